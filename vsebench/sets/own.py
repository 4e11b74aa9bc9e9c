"""Data sets that a user has declared. The file in the cache has the declaration beside the captions."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path

from ..errors import UsageError
from ..files.caption_rows import first_captions
from ..files.regular import expanded, is_folder
from ..registry import closest, unknown
from .caption_files import all_of_file
from .choices import layouts as choices
from .source import Build, SetSource, known, names, source_of
from .stored import declare, store, stored_path

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
RESERVED = ("custom",)


class OwnSets(SetSource):
    """Data sets of one's own, under any name that no other source owns."""

    available = "own"
    last = True

    def owns(self, name: str) -> bool:
        """Whatever the others do not own."""
        return True

    def built(self) -> list[str]:
        """The data sets that were declared here, sorted."""
        return [name for name in super().built() if _NAME.fullmatch(name)]

    def build(self, name: str, how: Build) -> Path:
        """Declare a data set of one's own."""
        if how.source is None:
            own = f"or declare a data set of your own: vsebench data build {name} --from captions.jsonl"
            raise unknown("split", name, names()).also(own)
        check_name(name)
        path = stored_path(name)
        how.refuse_built(name, path, ", or choose another name")
        if is_folder(expanded(how.source)):
            near = closest(name, [x for x in known() if source_of(x) is not self])
            meant = f"; published sets of a similar name: {', '.join(near)}" if near else ""
            what = f"is a folder, and '{name}' is no published set: a data set of your own is built from one file"
            raise UsageError(what, where=how.source, fix=f"name the file of captions{meant}")
        rows = all_of_file(how.source, how.part)
        if how.captions_per_image is not None:
            rows = first_captions(rows, how.captions_per_image)
        store(path, rows, asdict(declare(name, rows)))
        return path


def check_name(name: str) -> None:
    """Refuse what cannot name a data set of one's own; raises UsageError."""
    if name in [one["name"] for one in choices.status()]:
        fix = "give its folder where it is used: vsebench choice FILE --set FOLDER"
        raise UsageError(f"'{name}' is a set of choices, which is not built", fix=fix)
    if name in RESERVED:
        raise UsageError(f"'{name}' has a meaning already", fix="choose another name")
    if not _NAME.fullmatch(name):
        fix = "use up to 64 lower-case letters, digits, dots, dashes and underscores, such as my-data"
        raise UsageError(f"'{name[:80]}' cannot name a data set", fix=fix)
