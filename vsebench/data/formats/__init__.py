"""File formats: from a path to arrays as the file stores them, not yet checked or matched to a split.

``table.FORMATS`` lists every format once: how it is recognised, what it holds, the function that reads it and the
package that function needs. Recognition, reading, messages and docs/formats.md are derived from that table.

- the table: ``table``; recognition by the first bytes: ``sniff``
- what readers return: ``raw``; named arrays of any format with the ids of their rows, and which of them is meant:
  ``members``
- ids as int64 or unicode, and looking rows up by id: ``ids``
- one reader a format: ``npy``, ``npz``, ``safetensors_file``, ``torch_file``, ``hdf5_file``, ``arrow_tables`` (parquet
  and arrow), ``clip_retrieval`` (a folder)
"""
