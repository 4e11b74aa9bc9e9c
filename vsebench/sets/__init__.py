"""Test sets, and rows of files in their order: their images and captions, and the image of every caption.

::

    arrays, ids (files) ─► items, owners ─► match ─► a split, with vectors, scores or lists in its order
    file or package ─► catalogue.build ─► CaptionRows ─► stored (cache) ─► catalogue.load_split ─► TestSet

- rows: one row an item, in the order of the split: ``items``; which image a text is of, and the order of rows without
  ids: ``owners``; which row is which item, and the captions of a split: ``match``
- test sets: ``catalogue`` builds, loads, lists, verifies and removes the splits of ``published`` sets (``layouts``), of
  plug-ins and the user's own; COCO and Flickr30K, the cached form, and installed packages: ``stored``
- images in tables and archives, with their captions: ``packed_images``
- sets of choices: ``choices``
"""
