"""COCO ids, captions and judgements inside packages that the user has installed.

Nothing is imported from them (importing ``eccv_caption`` prints warnings): their files are read in place.
``eccv_caption`` (MIT) holds the ids of Karpathy's COCO test captions and the ECCV Caption and CxC positives;
the SPICE archive of ``pycocoevalcap`` holds the official COCO 2014 caption annotations.
"""

from __future__ import annotations

import importlib.util
import json
import zipfile
from contextlib import AbstractContextManager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import MissingPackage
from ..files.caption_rows import CaptionRows
from ..files.karpathy import annotation_rows
from ..files.regular import reading
from ..files.textfile import parse_json
from ..types import Ids

INSTALL = "pip install 'vsebench[text]'"
IDS_PACKAGE = "eccv_caption"
CAPTIONS_PACKAGE = "pycocoevalcap"
JAR = "spice/spice-1.0.jar"
CAPTIONS_IN_JAR = "coco/annotations/captions_val2014.json"


def package_file(package: str, relative: str) -> Path | None:
    """The path of a file inside an installed package, without importing it; None when there is none."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    for folder in spec.submodule_search_locations or ():
        path = Path(folder) / relative
        if path.is_file():
            return path
    return None


def judgement_file(name: str) -> Path:
    """The path of ``eccv_caption/data/<name>``.

    Raises:
        MissingPackage: the package is not installed.
    """
    path = package_file(IDS_PACKAGE, f"data/{name}")
    if path is None:
        raise MissingPackage(f"package '{IDS_PACKAGE}' is not installed; it holds {name}", fix=INSTALL)
    return path


def read_judgements(name: str) -> dict[str, list[int]]:
    """One JSON file of ``eccv_caption``: query id -> ids of its positives.

    Raises:
        MissingPackage: the package is not installed.
        BadInput: the file is damaged.
    """
    path = judgement_file(name)
    with _installed(path):
        content = parse_json(path.read_text(encoding="utf-8"), path)
        if not isinstance(content, dict):
            raise ValueError("no JSON object")
    return content


def has_ids() -> bool:
    """Whether the ids of the COCO test captions are installed."""
    return package_file(IDS_PACKAGE, "data/coco_test_ids.npy") is not None


def has_captions() -> bool:
    """Whether the COCO captions are installed."""
    return package_file(CAPTIONS_PACKAGE, JAR) is not None


def coco_id_rows() -> CaptionRows:
    """Ids of Karpathy's COCO test captions in their order, without captions; under 0.1 s, cached.

    Raises:
        MissingPackage: ``eccv_caption`` is not installed.
        BadInput: its files are damaged.
    """
    path = judgement_file("coco_test_ids.npy")
    return _id_rows(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=1)  # read several times in a run; the rows are read-only
def _id_rows(path: Path, _changed: int) -> CaptionRows:
    with _installed(path):
        caption_ids: Ids = np.load(path, allow_pickle=False).astype(np.int64)
    image_of = read_judgements("original_caption_to_image.json")
    with _installed(path.parent / "original_caption_to_image.json"):
        image_ids = np.fromiter((image_of[str(i)][0] for i in caption_ids.tolist()), np.int64, len(caption_ids))
    return CaptionRows(image_ids, caption_ids, None, f"package {IDS_PACKAGE}")


def coco_rows() -> CaptionRows:
    """Ids and captions of Karpathy's COCO test captions in their order; about a second.

    Raises:
        MissingPackage: ``eccv_caption`` or ``pycocoevalcap`` is not installed.
        BadInput: their files are damaged.
    """
    ids = coco_id_rows()
    path = _captions_file()
    return annotation_rows(_annotations(path), f"{path}!{CAPTIONS_IN_JAR}", ids.caption_id)


def _captions_file() -> Path:
    path = package_file(CAPTIONS_PACKAGE, JAR)
    if path is None:
        raise MissingPackage(f"package '{CAPTIONS_PACKAGE}' is not installed; it holds the COCO captions", fix=INSTALL)
    return path


def _annotations(path: Path) -> dict[str, Any]:
    with _installed(path), zipfile.ZipFile(path) as archive:
        content = json.loads(archive.read(CAPTIONS_IN_JAR))
        if not isinstance(content, dict) or not isinstance(content.get("annotations"), list):
            raise ValueError(f"{CAPTIONS_IN_JAR} holds no annotations")
    return content


def _installed(path: Path) -> AbstractContextManager[None]:
    fix = "reinstall it: pip install --force-reinstall --no-cache-dir 'vsebench[text]'"
    return reading(path, "the installed file is damaged", fix)
