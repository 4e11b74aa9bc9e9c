"""Files become arrays, lists and captions in the order of a split; a split is a set of images and their captions.

::

    file(s) -> read, read_pairs -> audit, match -> align -> a split, with vectors, scores or lists in its order

- reading: ``read`` (embeddings in one file or two, score matrices; one module a file format: ``formats``),
  ``read_pairs`` (retrieved lists, judgements and scores of pairs, all as ``pairs.Pairs``)
- checks: ``audit``; one row an item: ``items``; which row is which item: ``match``; which image a text is of:
  ``owners``; all of them, and the order of the split: ``align``
- test sets: ``splits``, and sets of choices: ``choices``; the captions of a split: ``captions``; generated data sets
  on disk: ``scenes``
- ``image_files``: a folder of images; ``published``: models of this machine or of Hugging Face
- files: ``regular`` (the check before any is opened), ``textfile`` (text and JSON), ``atomic`` (writing), ``lock`` (one
  process at a time), ``cache`` (the folder), ``store`` (computed results)
"""
