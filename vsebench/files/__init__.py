"""Files: from a path, or the same content in memory, to arrays with ids, pairs and captions; and writing.

Nothing here knows a test set: rows keep the order of the file, and ``vsebench.sets`` puts them in that of a split. ::

    path ─► formats (one table) ─► members: named arrays ─► read: vectors, scores, labels, each with its ids
    path ─► kinds (one table) ─► records: a data frame   ─► read_pairs: ``Pairs`` (query, item, number, rank)
                                                         ─► captions: ``CaptionRows``; columns; labels

- arrays: ``formats`` lists every format once (how it is recognised, what it holds, the function that reads it, the
  package that it needs), from which recognition, reading, messages and docs/formats.md are derived; one
  reader a format: ``npy`` (.npz, and folders of clip-retrieval), ``safetensors_file``, ``torch_file``, ``hdf5_file``
  (.mat), ``arrow_tables`` (parquet, arrow and JSON lines); each describes the arrays as ``Member``; which of
  them is meant, and parts of one: ``members``
- ids as int64 or unicode, and looking rows up by id: ``ids``; what readers return, and checks of its values: ``raw``
- records of any form (CSV, TSV, JSON, JSON lines, parquet): ``records``; which fields hold what, and layouts that are
  no table, are in one table, ``kinds.KINDS``: captions, judgements, runs, scores, labels, columns by id
- others: ``image_files``, ``models`` (of this machine or of Hugging Face), and whether
  their ``weights`` fit
- the mechanism: ``regular`` (the check before any is opened, and folders of the trainer), ``textfile`` (text and
  JSON), ``atomic`` (writing, one process at a time), ``store`` (computed results)
"""
