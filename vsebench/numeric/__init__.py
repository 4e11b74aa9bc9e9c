"""Threads and sorting, independent of retrieval.

- ``parallel``: the number of threads, work distributed over threads, a BLAS limited to one thread
- ``compiled``: numba's ``njit`` with a cache that may fail
- ``elementary``: logarithms, integers ascending; ``sort_kernels``: rows of float32 numbers descending, ties by position
"""
