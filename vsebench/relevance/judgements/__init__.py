"""Binary relevance judgements: which candidates are positives of a query.

A set of judgements takes a ``Split`` and a direction and gives a ``Relevance`` (compressed rows of gallery indices,
one row a query). Modules:

- ``declare``: ``Judgements``, what a set declares about itself
- ``table``: ``JUDGEMENTS``, the one table of the sets, and loading by name
- ``ground_truth``, ``coco_1k``, ``eccv``, ``cxc``: the declarations, one a file
- ``pairs``: a ``Relevance`` from pairs of indices
- ``coco_files``: reading the files of the package ``eccv_caption``

A new set is one file with a ``Judgements`` and one line in ``table``.
"""
