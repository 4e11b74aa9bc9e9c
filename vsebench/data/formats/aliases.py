"""The usual names of arrays in files, and which array of a file is meant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...errors import BadInput
from ...options import spell
from ...registry import closest
from .raw import Member

FLOATS = ("float16", "float32", "float64", "bfloat16")
_TEXT_LIKE = ("str", "bytes", "object")


@dataclass(frozen=True)
class Field:
    """One array to be found in a file.

    Attributes:
        words: what it holds, for messages.
        names: its usual names, lower case.
        flag: the option that names it explicitly, or the empty string.
    """

    words: str
    names: tuple[str, ...]
    flag: str = ""


IMAGES = Field(
    "image vectors",
    ("image_embeddings", "image_embeds", "image_embs", "images", "img", "img_embs", "img_emb",
     "image_features", "img_features"),
    "image_key",
)  # fmt: skip
TEXTS = Field(
    "text vectors",
    ("text_embeddings", "text_embeds", "text_embs", "caption_embeddings", "captions", "texts", "txt", "cap",
     "caps", "cap_embs", "text_features", "caption_features"),
    "text_key",
)  # fmt: skip
IMAGE_IDS = Field("image ids", ("image_ids", "img_ids", "images_ids"))
TEXT_IDS = Field("text ids", ("text_ids", "caption_ids", "cap_ids", "captions_ids", "sentence_ids"))
OWNER_ROWS = ("image_index", "image_row_of_text")  # names that say: rows, counted from 0
OWNER_IDS = ("image_id_of_text", "caption_image_ids", "text_image_ids")  # and: ids
IMAGE_OF_TEXT = Field(
    "the image of every text",
    ("image_of_text", "image_of_caption", "image_of", "text_to_image", "txt2img", *OWNER_ROWS, *OWNER_IDS),
)
CAPTIONS = Field(
    "captions", ("captions", "caption", "texts", "text", "sentences", "caption_strings", "raw_captions")
)  # strings
SCORES = Field("scores", ("scores", "sims", "sim", "similarity", "similarities", "matrix"), "scores_key")


def pick(
    members: Sequence[Member], field: Field, where: Path, key: str | None = None, beside: Member | None = None
) -> Member | None:
    """The member that holds ``field``, or None.

    Args:
        members: all arrays of the file.
        field: names are compared without case, nested ones by their last part.
        where: the file, for messages.
        key: the name that the user gave; then it must exist.
        beside: when several match, those in the same group (HDF5, nested dict) as this one are preferred.

    Raises:
        BadInput: ``key`` does not exist, or two names of the field are present.
    """
    if key is not None:
        return named(members, key, field, where)
    found = [m for m in members if m.base in field.names]
    if field.flag and len(found) > 1:
        # `captions` next to `caption_embeddings` usually holds strings.
        found = [m for m in found if m.dtype not in _TEXT_LIKE] or found
    if beside is not None and len(found) > 1:
        group = beside.name.rpartition("/")[0]
        found = [m for m in found if m.name.rpartition("/")[0] == group] or found
    if len(found) > 1:
        fix = f"choose one with {spell(field.flag, 'KEY')}" if field.flag else "keep only one of them"
        if field is IMAGES or field is TEXTS:
            fix = f"choose with {spell('image_key', 'KEY')} and {spell('text_key', 'KEY')}"
        names = " and ".join(f"'{m.name}' {m.shape}" for m in found[:4])
        raise BadInput(f"{field.words} occur under {len(found)} names: {names}", where=where, fix=fix)
    return found[0] if found else None


def pick_strings(members: Sequence[Member], field: Field) -> Member | None:
    """The first array of strings that has one of the names of ``field``, in their order; None without one."""
    found = {m.base: m for m in reversed(members) if m.dtype in ("str", "bytes") and len(m.shape) == 1}
    return next((found[name] for name in field.names if name in found), None)


def named(members: Sequence[Member], key: str, field: Field, where: Path) -> Member:
    """The member called ``key``, in full or by the last part of a nested name.

    Raises:
        BadInput: there is none, or the last part fits several.
    """
    found = [m for m in members if m.name == key] or [m for m in members if m.base == key.lower()]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(f"'{m.name}'" for m in found)
        raise BadInput(f"{spell(field.flag)} '{key}' fits {names}", where=where, fix="give the name in full")
    near = closest(key, [m.name for m in members])
    fix = f"did you mean {' or '.join(repr(n) for n in near)}?" if near else "give one of the names above"
    raise BadInput(f"has no array '{key}' ({spell(field.flag)}); it holds {describe(members)}", where=where, fix=fix)


def describe(members: Sequence[Member], most: int = 12) -> str:
    """The arrays of a file with shapes and dtypes, in one line."""
    if not members:
        return "no arrays at all"
    tail = f", and {len(members) - most} more" if len(members) > most else ""
    return ", ".join(str(m) for m in members[:most]) + tail
