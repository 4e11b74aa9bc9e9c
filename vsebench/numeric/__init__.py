"""Threads and sorting, independent of retrieval.

- ``parallel``: the number of threads, work distributed over threads, a BLAS limited to one thread
- ``compiled``: numba's ``njit`` with a cache that may fail
- ``sort``, ``sort_kernels``: rows of float32 numbers in descending order, ties by position
"""
