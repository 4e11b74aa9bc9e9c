"""Which data sets of scenes there are, and their splits, for the catalogue of splits."""

from __future__ import annotations

import shutil
from pathlib import Path

from ...errors import UsageError
from ...files.atomic import hidden_of, make_folder, refused
from ...files.lock import locked
from ...files.regular import sha256_of
from ...scenes.settings import PARTS, of_split, parse, split_name
from ..stored import stored_path
from .folder import command, folder_of, lock_of, missing, read_about, root

OFFERED = ("scenes-tiny", "scenes-10k")  # listed also when they are not built


def names() -> list[str]:
    """The data sets that are offered, and others that are built here, also in part."""
    try:
        folders = sorted(path.name for path in root().iterdir() if path.is_dir())
    except OSError:
        folders = []
    found = (name.removeprefix(".").removesuffix(".partial") for name in folders)
    return list(dict.fromkeys([*OFFERED, *filter(_is_canonical, found)]))


def _is_canonical(name: str) -> bool:
    try:
        return parse(name).name == name
    except UsageError:
        return False


def splits(name: str) -> list[str]:
    """The names of the splits of a data set."""
    return [split_name(name, part) for part in PARTS]


def data_set(split: str) -> str | None:
    """The data set that a split is a part of; None for splits that are not of scenes.

    Raises:
        UsageError: the name is meant for one of scenes, and has an unknown setting or is written in another way.
    """
    found = of_split(split)
    if found is None:
        return None
    name, part = found
    usual = parse(name).name
    if usual != name:
        raise UsageError(f"'{split}' is not written in the usual way", fix=f"write {split_name(usual, part)}")
    return name


def require(split: str) -> None:
    """Check that a split of scenes is built; nothing is checked of other splits.

    Raises:
        UsageError: as ``data_set``.
        MissingPackage: it is not built here; the message has the command.
        BadInput: damaged, or built by another version of the generator.
    """
    name = data_set(split)
    if name is not None:
        read_about(name)
        if not stored_path(split).exists():
            raise missing(name)


def remove(name: str) -> Path:
    """Remove a data set and its splits, and what an interrupted build has left.

    Returns:
        Its folder, which was removed.

    Raises:
        UsageError: it has no files here, or is a split.
        DiskError: another process builds it, or the system refuses.
    """
    if (whole := data_set(name)) is not None:
        what = f"'{name}' is a part of '{whole}'"
        raise UsageError(what, fix=f"remove all of it: vsebench data remove {whole}")
    name = parse(name).name
    folders = [folder for folder in (folder_of(name), *hidden_of(folder_of(name))) if folder.exists()]
    files = [path for path in map(stored_path, splits(name)) if path.exists()]
    if not folders and not files:
        raise UsageError(f"'{name}' has no files in the cache", fix="see vsebench data list")
    try:
        make_folder(root())
        with locked(lock_of(name), f"'{name}' is being built"):
            for path in files:
                path.unlink(missing_ok=True)
            for folder in folders:
                shutil.rmtree(folder)
    except OSError as error:
        raise refused(error.filename or folder_of(name), error) from error
    return folder_of(name)


def verify_files(name: str) -> list[tuple[str, bool, str]]:
    """Read every file of a data set, and compare its content with what was built: (file, whether it is right, how).

    Raises:
        UsageError: no name of scenes.
        MissingPackage, BadInput: as ``folder.read_about``.
    """
    name = parse(name).name
    about, found = read_about(name), []
    for file, facts in about["files"].items():
        digest = sha256_of(folder_of(name) / file)
        same = digest == facts["sha256"]
        other = "" if same else f", expected {facts['sha256'][:16]}: build it again: {command(name)} --force"
        found.append((file, same, f"{facts['bytes']:,} bytes, sha256 {digest[:16]}{other}"))
    return found
