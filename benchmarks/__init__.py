"""Speed and memory of vsebench, as multiples of the float32 product and beside other implementations.

``python -m benchmarks NAME`` measures; ``--quick`` only compares values, on small inputs::

    task (what, goal) ─► run: a process a task ─► usage, values ─► compare with ours ─► table, JSON, docs/benchmarks.md

- ``task``: the record of a task, its goals, and what it needs
- ``inputs``: vectors, captions, judgements, gains and lists that the tasks start from, each made once
- ``ranking``, ``metrics``, ``relevance``, ``losses``, ``backends``, ``scale``, ``large``, ``compilation``: the tasks of
  the library
- ``peers``: other implementations of the same, one file each
- ``run``: measures tasks; ``compare``: whether a peer has our values; ``machine``: memory, commands, versions
- ``table``: the printed table; ``document``: ``docs/benchmarks.md``
"""
