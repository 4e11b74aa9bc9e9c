"""Signatures: one line that identifies how a value was measured: version, split, scores and rules.

``vsebench:0.1.0|split:coco-5k#3f2a9c01|score:dot|order:f64|ties:index|empty:skip``. Values with equal signatures are
comparable: everything that can change a digit is in it, threads, block size and machine, which cannot, are not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .errors import UsageError, printable
from .types import Both, Int, TestSet

ENCODER = "encoder"  # field: what the encoder of the vectors was given that is not its default
CANDIDATES = "candidates"  # field: the items that may be returned for a query
ALL = "all"  # its value without the field
STAGES = (ENCODER, "fuse", CANDIDATES, "normalise", "index", "rerank")  # fields: what was done before and after ranking
CORRECTED = "normalise"  # field: how scores were corrected, which may use the other queries of the test set
OF_SYSTEM = ("vsebench", "score", ENCODER, "fuse", "index", "rerank")  # fields: what a system is and how it scores
_FORBIDDEN = "|:"


def ascending(split: TestSet) -> Both[Int]:
    """The rows and the columns of a split in canonical order; a custom one ascends by id, see ``rank.ties``."""
    rows, columns = (np.argsort(x.ids) if split.name == "custom" else np.arange(len(x)) for x in split.sides)
    return rows, columns


def fingerprint(split: TestSet) -> str:
    """Eight hexadecimal digits of a split: its ids, the image of every caption and the folds, in canonical order."""
    digest, order = hashlib.sha256(), ascending(split)
    for side, at in zip(split.sides, order, strict=True):
        digest.update("\n".join(map(str, side.ids[at].tolist())).encode("utf-8", "surrogatepass"))
        digest.update(b"\0")
    if split.image_of is not None:
        digest.update(np.ascontiguousarray(np.argsort(order[0])[split.image_of[order[1]]], "<i8").tobytes())
    if split.row_folds is not None:
        digest.update(np.ascontiguousarray(split.row_folds, "<i8").tobytes())
    return digest.hexdigest()[:8]


def captions_fingerprint(captions: Sequence[str]) -> str:
    """``#`` and eight hexadecimal digits of captions in their order."""
    return "#" + hashlib.sha256("\0".join(captions).encode("utf-8", "surrogatepass")).hexdigest()[:8]


def encoder_field(choices: Mapping[str, Any]) -> str:
    """The value of the field ``encoder``: ``lower,template=a photo of {}``; at most 200 characters, of any mapping.

    Args:
        choices: of an encoder, those that are not its defaults; True stands for a word alone.
    """
    words = (f"{key}" if value is True else f"{key}={value}" for key, value in choices.items())
    return printable(",".join(words)).replace("|", "\\x7c")[:200]


def write(fields: Mapping[str, str]) -> str:
    """``key:value`` pairs joined by ``|``; raises UsageError if a key or value has a separator."""
    for key, value in fields.items():
        if any(c in key for c in _FORBIDDEN) or "|" in value:
            raise UsageError(f"'{key}:{value}' cannot be part of a signature", fix="leave out '|' and ':' in keys")
    return "|".join(f"{key}:{value}" for key, value in fields.items())


def read(signature: str) -> dict[str, str]:
    """The fields of a signature; raises UsageError when it is not one."""
    fields = {}
    for part in signature.split("|"):
        key, colon, value = part.partition(":")
        if not colon or not key:
            raise UsageError(f"'{signature}' is not a signature", fix="write key:value pairs joined by '|'")
        fields[key] = value
    return fields


def rules(signature: str) -> dict[str, str]:
    """The fields by which something was measured, in which numbers of one table agree; raises as ``read``.

    The system and its scores are not rules: unit vectors have the same order by ``dot`` and ``cosine``.
    """
    found = {CANDIDATES: ALL, **read(signature)}
    return {field: value for field, value in found.items() if field not in OF_SYSTEM}
