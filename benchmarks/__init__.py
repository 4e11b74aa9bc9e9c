"""Speed and memory of vsebench, as multiples of the float32 product and beside other implementations.

``python -m benchmarks NAME`` measures; ``--quick`` only compares values, on small inputs.

- ``run``: the record of a task; measures tasks, compares the values of peers with ours
- ``inputs``: vectors, captions, judgements, gains and lists that the tasks start from, each made once
- ``library``, ``losses``: the tasks of vsebench and of the trainer; ``peers``: other implementations of the same
- ``table``: the printed table, and the tables of ``docs/exactness.md``
"""
