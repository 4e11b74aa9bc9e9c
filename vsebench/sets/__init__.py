"""Test sets, and rows of files in their order: which images and captions there are, which caption is of which image.

::

    arrays, ids (files) ─► items, owners ─► match ─► align ─► a split, with vectors, scores or lists in its order
    file or package ─► catalogue.build ─► CaptionRows ─► stored (cache) ─► catalogue.load_split ─► TestSet

- rows: one row an item: ``items``; which image a text is of: ``owners``; which row is which item: ``match``; all of
  them, and the order of the split: ``align``; what has no ids: ``placing``; the captions of a split: ``captions``
- test sets: the tables ``declared`` and ``published`` (``layouts``); ``catalogue`` builds, loads, lists, verifies and
  removes their splits, those of plug-ins and the user's own; the cached form, and installed packages: ``stored``
- images in tables and archives, with their captions: ``packed_images``
- sets of choices: ``choices``
"""
