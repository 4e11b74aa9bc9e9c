"""Data sets that a user has declared: their names, declarations and files, beside those that vsebench declares.

The file of such a split in the cache holds its declaration next to its captions; nothing else knows about it.
"""

from __future__ import annotations

import re

from ..errors import BadInput, UsageError
from ..files.cache import file_stem
from ..files.caption_rows import CaptionRows, rows_sha256, set_sha256
from ..files.ids import canonical, counts_rows
from ..scenes.settings import is_name, of_split
from ..types import Ids
from . import stored
from .declared import DECLARED, DeclaredSplit

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_STORED = re.compile(_NAME.pattern + "(:[a-z]{2,3})?")  # a language of a published set
RESERVED = ("custom",)


def names() -> list[str]:
    """The names of declared data sets of one's own, and of published sets and scenes that are built, sorted."""
    # The name of a split of scenes has all its settings, and may be longer than those that users give.
    found = (name for name in stored.stored_names() if name not in DECLARED)
    return [name for name in found if _STORED.fullmatch(name) or of_split(name) is not None]


def check_name(name: str) -> None:
    """Refuse what cannot name a data set of one's own; raises UsageError."""
    if name in DECLARED or name in RESERVED:
        what = f"'{name}' is a split that vsebench declares" if name in DECLARED else f"'{name}' has a meaning already"
        raise UsageError(what, fix="choose another name")
    if is_name(name):
        what = f"'{name[:80]}' cannot name a data set of your own: such names are those of generated scenes"
        raise UsageError(what, fix="choose another name")
    if not _NAME.fullmatch(name):
        fix = "use up to 64 lower-case letters, digits, dots, dashes and underscores, such as my-data"
        raise UsageError(f"'{name[:80]}' cannot name a data set", fix=fix)


def declare(name: str, rows: CaptionRows) -> DeclaredSplit:
    """The declaration of a data set by its rows, whose order is that of the split."""
    images = rows.images()[0]
    return DeclaredSplit(
        name=name,
        built_as=name,
        images=len(images),
        captions=len(rows.caption_id),
        fold_size=None,
        rows_sha256=rows_sha256(rows),
        images_sha256=set_sha256(canonical(images)),
        captions_sha256=set_sha256(canonical(rows.caption_id)),
        id_kind="int" if rows.caption_id.dtype.kind == "i" else "str",
        order="file",
        cite="",
        licence="",
        sources=(rows.origin,),
    )


def declared(name: str) -> DeclaredSplit:
    """The declaration of a data set of one's own.

    Raises:
        UsageError: there is none of this name.
        BadInput: its file is damaged.
    """
    if name not in names():
        from ..registry import unknown

        raise unknown("split", name, [*DECLARED, *names()])
    return _declared(name)


def _declared(name: str) -> DeclaredSplit:
    """As ``declared``, of a name from ``names``."""
    path = stored.stored_path(name)
    facts = stored.read_about(path)
    try:
        facts["sources"] = tuple(facts["sources"])
        found = DeclaredSplit(**facts)
    except (TypeError, KeyError) as error:
        raise stored.damaged(path) from error
    if found.name != name:
        raise BadInput(
            f"holds the data set '{found.name}'", where=path, fix=f"call the file {file_stem(found.name)}.npz"
        )
    return found


def matching(image_ids: Ids | None, caption_ids: Ids | None, fewer_images: bool = False) -> list[str]:
    """The built data sets that have exactly these ids, in any order: one's own, published ones, scenes.

    Both sides must be given: ids of one side, and ids that only count rows, are those of many data sets.

    Args:
        image_ids: (image,) int64 or unicode; repeated ids count once. None when unknown.
        caption_ids: (caption,) likewise.
        fewer_images: the data sets that have these captions and more images.
    """
    if image_ids is None or caption_ids is None or counts_rows(caption_ids):
        return []
    found = []
    captions, images = canonical(caption_ids), canonical(image_ids)
    for name in names():
        try:
            split = _declared(name)
        except BadInput:  # whoever needs it will be told
            continue
        if len(captions) != split.captions or (len(images) < split.images) != fewer_images:
            continue
        same = set_sha256(captions) == split.captions_sha256
        if same and (fewer_images or set_sha256(images) == split.images_sha256):
            found.append(name)
    return found
