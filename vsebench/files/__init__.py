"""Files: from a path, or the same content in memory, to arrays with ids, pairs and captions; and writing.

Nothing here knows a test set: rows keep the order of the file, and ``vsebench.sets`` puts them in the order of a
split. ::

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

Public for code outside of vsebench, such as a trainer: ``read_captions``, ``read_vectors``, ``find_images``,
``read_image``, ``places`` (of ids), ``write`` (atomically), ``make_folder`` and ``lock``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_PUBLIC = {
    "find_images": ("image_files", "find_images"),
    "lock": ("atomic", "locked"),
    "make_folder": ("atomic", "make_folder"),
    "places": ("ids", "places"),
    "read_captions": ("captions", "table_of_captions"),
    "read_image": ("image_files", "read_image"),
    "read_vectors": ("read", "read_vectors"),
    "write": ("atomic", "write_atomically"),
}

__all__ = ["find_images", "lock", "make_folder", "places", "read_captions", "read_image", "read_vectors", "write"]

if TYPE_CHECKING:
    from .atomic import locked as lock
    from .atomic import make_folder as make_folder
    from .atomic import write_atomically as write
    from .captions import table_of_captions as read_captions
    from .ids import places as places
    from .image_files import find_images as find_images
    from .image_files import read_image as read_image
    from .read import read_vectors as read_vectors


def __getattr__(name: str) -> Any:
    """A public name, imported when it is used; raises AttributeError."""
    if name in _PUBLIC:
        module, function = _PUBLIC[name]
        return getattr(import_module(f"{__name__}.{module}"), function)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
