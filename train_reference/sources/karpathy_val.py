"""The images of Karpathy's COCO val part, from a file of the user: no package holds their ids."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from vsebench.data.formats.ids import number_in
from vsebench.data.formats.members import IMAGE_IDS, pick
from vsebench.data.formats.npz import npz_members
from vsebench.data.regular import check_file, reading
from vsebench.data.splits.karpathy import is_karpathy, karpathy_rows
from vsebench.data.textfile import parse_json, read_text, text_lines
from vsebench.errors import BadInput
from vsebench.memory import require
from vsebench.types import Ids

VAL_FILES = "dataset_coco.json, sits_val.csv of CxC, or image ids (.txt, one a line; .npz with image_ids)"


def val_image_ids(path: str) -> Ids:
    """(image,) int64 COCO image ids of the val part, each once, in the order of the file.

    Args:
        path: Karpathy's ``dataset_coco.json``; ``sits_val.csv`` of Crisscrossed Captions, plain or gzip, which has
            all val images in its original pairs; ids one a line; or .npz with an array ``image_ids``.

    Raises:
        BadInput: another file, or a damaged one.
    """
    fix = f"give {VAL_FILES}"
    file = Path(path).expanduser()
    check_file(file, fix)
    if file.suffix == ".npz":
        member = pick(npz_members(file), IMAGE_IDS, file)
        if member is None:
            raise BadInput("is no .npz file with image_ids", where=file, fix=fix)
        require(member.nbytes, file)
        ids = member.load()
    else:
        with reading(file, "is no table", fix):
            ids = np.asarray(_of_text(read_text(file), str(file)))
    if ids.ndim != 1 or ids.dtype.kind not in "iu" or not len(ids):
        raise BadInput(f"image ids of shape {ids.shape} and type {ids.dtype}", where=file, fix=fix)
    unique, first = np.unique(ids.astype(np.int64), return_index=True)
    found: Ids = unique[np.argsort(first)]
    return found


def _of_text(text: str, where: str) -> list[int]:
    start = text.lstrip()
    if start.startswith("{"):
        document = parse_json(text, where)
        if not is_karpathy(document):
            raise BadInput("not a Karpathy file", where=where, fix=f"give {VAL_FILES}")
        found = karpathy_rows(document, where, "val").image_id
        if found.dtype.kind != "i":
            raise BadInput(f"has image ids such as {str(found[0])!r:.60}", where=where, fix=f"give {VAL_FILES}")
        return list(found.tolist())
    names: Iterable[str] = filter(None, map(str.strip, text_lines(text)))
    if "sampling_method" in start.partition("\n")[0]:
        rows = csv.DictReader(io.StringIO(start))
        names = (row.get("image") or "" for row in rows if row.get("sampling_method") == "c2i_original")
    return [_number(name, where) for name in names]


def _number(name: str, where: str) -> int:
    """An image id, or that in a file name of COCO, such as ``COCO_val2014_000000000042.jpg``."""
    found = number_in(name)
    if found is None:
        raise BadInput(f"{name!r:.60} is no image id", where=where, fix=f"give {VAL_FILES}")
    return found
