"""Binary relevance judgements: which candidates are positives of a query.

A set of judgements takes a ``Split`` and a direction and gives a ``Relevance`` (compressed rows of gallery indices,
one row a query). Modules:

- ``declare``: ``Judgements``, what a set declares about itself; a ``Relevance`` from pairs of indices
- ``table``: ``JUDGEMENTS``, the one table of the sets, loading by name, and checks of the published numbers
- ``own``: judgements of the user, placed among the items of a split
- ``as_gains``: judgements as gains, for metrics normalised by the ideal gains
- ``ground_truth`` (``gt``, ``1k``), ``coco_files`` (``eccv``, ``cxc``), ``scenes`` (``entails``)

A new set is a ``Judgements`` in a file and one line in ``table``.
"""
