"""Other implementations of the same metrics, to compare values and time with; ``python -m benchmarks.peers``.

- ``table``: the peers, what each computes, which of our values are the same, how its definitions differ
- one file a peer; ``dictionaries`` is shared by those that read dictionaries; ``loss_loops`` are naive losses
- ``inputs``: what all start from; ``ours``: the library computing the same; ``compare``: whether the values are equal
- ``document``: the stored table and the page of it; ``__main__``: the command line
"""
