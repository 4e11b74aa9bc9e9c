"""Files: from a path, or the same content in memory, to arrays with ids, pairs and captions; and writing.

Nothing here knows a test set: rows keep the order of the file, and ``vsebench.sets`` puts them in that of a split. ::

    path ─► formats (one table) ─► members: named arrays ─► read: vectors, scores, labels, each with its ids
         ─► columns: runs, qrels, JSON, matrices         ─► read_pairs: ``Pairs`` (query, item, number, rank)
         ─► caption_text, karpathy (and COCO)            ─► caption_rows: ``CaptionRows``

- arrays: ``formats`` lists every format once (how it is recognised, what it holds, the function that reads it, the
  package that it needs), from which recognition (``sniff``), reading, messages and docs/formats.md are derived; one
  reader a format: ``npy`` (.npz), ``safetensors_file``, ``torch_file``, ``hdf5_file``, ``mat_file``, ``arrow_tables``
  (parquet, arrow and JSON lines), ``clip_retrieval`` (a folder); each describes the arrays as ``Member`` (``raw``);
  which of them is meant, and parts of one: ``members``
- ids as int64 or unicode, and looking rows up by id: ``ids``; checks of values: ``audit``
- captions by content: ``caption_text``, ``tables``; their fields: ``caption_records``
- others: ``run_folder`` (of the trainer), ``image_files``, ``models`` (of this machine or of Hugging Face), and whether
  their ``weights`` fit
- the mechanism: ``regular`` (the check before any is opened), ``textfile`` (text and JSON), ``atomic`` (writing,
  one process at a time), ``store`` (computed results)
"""
