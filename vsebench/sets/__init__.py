"""Test sets, and rows of files in their order: which images and captions there are, which caption is of which image.

::

    arrays, ids (files) ─► items, owners ─► match ─► align ─► a split, with vectors, scores or lists in its order
    file or package ─► SetSource.build ─► CaptionRows ─► stored (cache) ─► catalogue.load_split ─► TestSet

- rows: one row an item: ``items``; which image a text is of: ``owners``; which row is which item: ``match``; all of
  them, and the order of the split: ``align``; what has no ids: ``placing``; the captions of a split: ``captions``
- test sets: ``catalogue`` is the public part: ``names``, ``declared``, ``load``, ``build``, ``status``, ``verify``; a
  source of them answers the questions of ``source.SetSource``: the declared sets in ``identity`` (as data in
  ``declared``), published ones in ``published`` (``layouts``), the user's in ``own``; the cached form: ``stored``
- files of captions: ``caption_files``; installed packages: ``packages``; images in tables: ``packed_images``
- sets of choices: ``choices``
- embeddings made from the captions of a split, for a demonstration without a model: ``synthetic``
"""
