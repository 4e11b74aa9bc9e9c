"""The files of a command line: every result can be written, and replaces no input. One check for all commands."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

# The parameters of commands that name a file to be written. Whatever else names a file is an input.
WRITTEN = ("output", "per_query", "save_run", "figure")
FOLDERS = ("figures",)  # in which files are written


def check_files(given: Mapping[str, Any]) -> bool:
    """Check before anything is read that the results can be written, do not replace an input, and are not two in one.

    Args:
        given: the values of a command's parameters by name.

    Returns:
        Whether the result of the command is written to a file, or to a folder (``--out``).

    Raises:
        UsageError: naming the file.
        DiskError: the disk is full or read-only, or there is no permission.
    """
    named = {name: path for name in WRITTEN if (path := given.get(name)) is not None}
    if not named:
        return "out" in given
    from ..data.atomic import check_writable, refuse_overwriting
    from ..errors import UsageError
    from ..evaluation import saved_run

    results = [path for name, path in named.items() if name != "save_run"]
    if "save_run" in named:
        results += saved_run.files(named["save_run"]).values()
    for path in results:
        if str(path) == "-":
            raise UsageError("'-' is no name of a file", fix="leave it out; then the result is printed on stdout")
    refuse_overwriting(
        results, list(named_files(value for name, value in given.items() if name not in (*WRITTEN, *FOLDERS)))
    )
    for path in results:
        check_writable(path)
    return "output" in named or "out" in given


def named_files(values: Iterable[Any]) -> Iterator[Path]:
    """The files and folders that exist among values, as in ``FILE``, ``NAME=FILE``, ``wmd:FILE`` and ``FILE,FILE``."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from named_files(value)
        elif isinstance(value, (str, Path)):
            text = str(value)
            for word in dict.fromkeys([text, *text.split(","), *re.split("[,=]", text), *re.split("[,:=]", text)]):
                path = Path(word).expanduser() if word[:1] != "~" or "/" in word else Path(word)
                with contextlib.suppress(OSError, ValueError):
                    if word and path.exists():
                        yield path
