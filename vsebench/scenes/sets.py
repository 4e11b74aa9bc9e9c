"""Generated data sets of scenes as a source of test sets: each has three splits, which are parts of it."""

from __future__ import annotations

import shutil
from pathlib import Path

from ..errors import BadInput, MissingPackage, UsageError, VsebenchError, unknown
from ..files.atomic import hidden_of, locked, make_folder, refused
from ..files.regular import sha256_of
from ..sets.catalogue import Build, Check, SetSource, SplitStatus
from ..sets.stored import DeclaredSplit, stored_path
from .folder import command, folder_of, lock_of, missing, read_about, root
from .settings import CAPTIONS, PARTS, is_name, of_split, parse, split_name

OFFERED = ("scenes-tiny", "scenes-10k")  # listed also when they are not built


class Scenes(SetSource):
    """The data sets that are offered, and others that are built here."""

    def owns(self, name: str) -> bool:
        """Whether it is meant for scenes."""
        return is_name(name)

    def built(self) -> list[str]:
        """The splits that are stored."""
        return [name for name in super().built() if of_split(name) is not None]

    def names(self) -> list[str]:
        """The splits of all data sets, also of those that are built in part or only offered."""
        return [split_name(name, part) for name in data_sets() for part in PARTS]

    def splits(self, name: str) -> list[str]:
        """The three splits of a data set; else the name itself."""
        return [split_name(name, part) for part in PARTS] if name in data_sets() else [name]

    def again(self, name: str) -> str:
        """The command that generates a split again, with the other parts."""
        return f"{command((of_split(name) or (name,))[0])} --replace"

    def missing(self, name: str) -> VsebenchError:
        """The data set that is not built here; or no name of a split."""
        parent = data_set(name)
        return unknown("split", name, self.names()) if parent is None else missing(parent)

    def declared(self, name: str) -> DeclaredSplit:
        """As for any split that is stored; the files of its data set are there too, by this version."""
        if (parent := data_set(name)) is not None:
            read_about(parent)
        return super().declared(name)

    def build(self, name: str, how: Build) -> Path:
        """Generate a data set with its splits; its folder."""
        how.refuse(name, "which is generated", "source")
        from .build import build_scenes  # and with it compiled code, which takes 0.4 s to import

        return build_scenes(name, replace=how.replace, progress=how.progress).folder

    def line(self, name: str) -> SplitStatus:
        """Whether a split is built, without reading it."""
        parent, part = of_split(name) or (name, "test")
        counts = (images := parse(parent).sizes[part]), images * CAPTIONS
        try:
            read_about(parent)
            if not stored_path(name).exists():
                raise missing(parent)
        except MissingPackage:
            return SplitStatus(name, *counts, "absent", False, command(parent))
        except BadInput:
            return SplitStatus(name, *counts, "damaged", False, self.again(name))
        return SplitStatus(name, *counts, "cached", True, "")

    def remove(self, name: str) -> Path:
        """Remove a data set and its splits, and what an interrupted build has left; its folder.

        Raises:
            UsageError: it has no files here, or is a split.
            DiskError: another process builds it, or the system refuses.
        """
        if (parent := data_set(name)) is not None:
            what = f"'{name}' is a part of '{parent}'"
            raise UsageError(what, fix=f"remove all of it: vsebench data remove {parent}")
        name = parse(name).name
        folders = [folder for folder in (folder_of(name), *hidden_of(folder_of(name))) if folder.exists()]
        files = [path for part in PARTS if (path := stored_path(split_name(name, part))).exists()]
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

    def checks(self, name: str) -> list[Check]:
        """Read every file of a data set, and compare its content with the built one."""
        name = parse(data_set(name) or name).name
        about, found = read_about(name), []
        for file, facts in about["files"].items():
            digest = sha256_of(folder_of(name) / file)
            same = digest == facts["sha256"]
            other = "" if same else f", expected {facts['sha256'][:16]}: build it again: {command(name)} --replace"
            found.append(Check(file, same, f"{facts['bytes']:,} bytes, sha256 {digest[:16]}{other}"))
        return found


def data_sets() -> list[str]:
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


def data_set(split: str) -> str | None:
    """The data set of a split; None for another name.

    Raises:
        UsageError: it has an unknown setting, or is written in another way.
    """
    found = of_split(split)
    if found is None:
        return None
    name, part = found
    usual = parse(name).name
    if usual != name:
        raise UsageError(f"'{split}' is not in canonical form", fix=f"write {split_name(usual, part)}")
    return name
