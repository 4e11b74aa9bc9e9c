"""The folder of a data set of scenes: its files and rows, and errors if one is missing, damaged or outdated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, MissingPackage
from ..files.regular import cache_dir, sha256_of
from .content import KINDS, Kind
from .facts import MAX_MENTIONS, MAX_STATED_RELATIONS, UNSAID, Facts
from .regions import DIM
from .settings import GENERATOR_VERSION, Settings
from .world import MAX_GROUPS, RELATIONS, Scene

SCHEMA = "vsebench/scenes/1"
ABOUT = "about.json"
SCENES, CAPTIONS = "scenes.jsonl", "captions.jsonl"
HEADER_BYTES = 128  # header of a .npy file


def arrays(settings: Settings) -> dict[str, tuple[str, tuple[int, ...]]]:
    """The files of arrays: the type of a value as numpy writes it, and the shape of a row.

    A row is an image, in ``facts.npy`` a caption, and in ``regions.npy`` and ``boxes.npy`` a region. The regions of
    image i are those from ``region_start[i]`` to before ``region_start[i + 1]``.
    """
    return {
        "images.npy": ("|u1", (settings.size, settings.size, 3)),
        "scenes.npy": ("|i1", (SCENE_WIDTH,)),
        "facts.npy": ("|i1", (FACTS_WIDTH,)),
        "regions.npy": ("<f4", (DIM,)),
        "boxes.npy": ("<f4", (4,)),
        "region_start.npy": ("<i8", ()),
    }


def header(descr: str, shape: tuple[int, ...]) -> bytes:
    """The first ``HEADER_BYTES`` bytes of a .npy file (format 1.0) of values in C order.

    Written here, because the length that numpy gives a header has changed with its versions, and because the number of
    rows is known only when all are written.

    Args:
        descr: the type of a value as numpy writes it, such as ``<f4``.
        shape: of the array; up to 60 digits.
    """
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}"
    start = b"\x93NUMPY\x01\x00" + (HEADER_BYTES - 10).to_bytes(2, "little")
    return start + text.ljust(HEADER_BYTES - 11).encode("ascii") + b"\n"


def root() -> Path:
    """The folder of all data sets of scenes, whether or not it exists."""
    return cache_dir() / "scenes"


def folder_of(name: str) -> Path:
    """The folder of a data set, whether or not it exists."""
    return root() / name


def lock_of(name: str) -> Path:
    """The lock file of whoever builds or removes a data set."""
    return root() / f".{name}.lock"


def command(name: str) -> str:
    """The command that builds a data set."""
    return f"vsebench data build {name}"


def missing(name: str) -> MissingPackage:
    """The error for a data set that is not built here."""
    return MissingPackage(f"the scenes '{name}' are not built here", fix=f"run: {command(name)}")


def damaged(where: Path, name: str, why: str) -> BadInput:
    """The error for a file or folder that no build has left so."""
    return BadInput(f"is damaged: {why}", where=where, fix=f"build it again: {command(name)} --replace")


def read_about(name: str) -> dict[str, Any]:
    """What ``about.json`` says of a data set that is complete; the content of the other files is not read.

    Raises:
        MissingPackage: it is not built here.
        BadInput: a file is missing or has another size, or another version of the generator has built it.
    """
    folder = folder_of(name)
    path = folder / ABOUT
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        built_by, files = about["generator"], {file: facts["bytes"] for file, facts in about["files"].items()}
        if (about["schema"], about["name"]) != (SCHEMA, name):
            raise ValueError(about["name"])
    except (FileNotFoundError, NotADirectoryError):
        if folder.is_dir():
            raise damaged(folder, name, f"{ABOUT} is missing") from None
        raise missing(name) from None
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror or error}", where=path, fix="check its permissions") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise damaged(path, name, "it does not describe these scenes") from error
    if built_by != GENERATOR_VERSION:
        what = f"built by version {built_by} of the generator, but this is version {GENERATOR_VERSION}"
        raise BadInput(what, where=folder, fix=f"build it again: {command(name)} --replace")
    for file, size in files.items():
        found = (folder / file).stat().st_size if (folder / file).is_file() else None
        if found != size:
            raise damaged(folder / file, name, "it is missing" if found is None else f"{found:,} bytes, not {size:,}")
    return dict(about)


def check_content(name: str, *files: str) -> None:
    """Check that files have the bytes that were built; their codes then need no further check.

    Raises:
        BadInput: one has others.
        MissingPackage: as ``read_about``.
    """
    built = read_about(name)["files"]
    for file in files:
        path = folder_of(name) / file
        if sha256_of(path) != built[file]["sha256"]:
            raise damaged(path, name, "its SHA-256 differs from the file that was built")


Codes = npt.NDArray[np.int8]

MENTION_COLUMNS = 5  # columns per mention, and per group
# of a scene: (number of groups, groups, background, relations, number of facts)
SCENE_GROUPS = 0
SCENE_FIRST = 1  # groups
SCENE_BACKGROUND = SCENE_FIRST + MAX_GROUPS * MENTION_COLUMNS
# Relation r of group a to group b holds when bit a of column SCENE_RELATIONS + r * MAX_GROUPS + b is set.
SCENE_RELATIONS = SCENE_BACKGROUND + 1
SCENE_FACTS = SCENE_RELATIONS + len(RELATIONS) * MAX_GROUPS
SCENE_WIDTH = SCENE_FACTS + 1
# of a caption: (number of mentions, mentions, background, number of relations, (relation, a, b) each, number of facts,
# index in KINDS)
FACTS_MENTIONS = 0
FACTS_FIRST = 1  # mentions
FACTS_BACKGROUND = FACTS_FIRST + MAX_MENTIONS * MENTION_COLUMNS
FACTS_RELATED = FACTS_BACKGROUND + 1
FACTS_RELATIONS = FACTS_RELATED + 1
FACTS_COUNT = FACTS_RELATIONS + 3 * MAX_STATED_RELATIONS
FACTS_KIND = FACTS_COUNT + 1
FACTS_WIDTH = FACTS_KIND + 1


def encode_scene(scene: Scene) -> Codes:
    """(SCENE_WIDTH,) int8."""
    row = np.full(SCENE_WIDTH, UNSAID, np.int8)
    row[SCENE_GROUPS] = len(scene.groups)
    for n, group in enumerate(scene.groups):
        row[SCENE_FIRST + n * MENTION_COLUMNS :][:MENTION_COLUMNS] = (*group.attributes, group.number)
    row[SCENE_BACKGROUND] = scene.background
    row[SCENE_RELATIONS:SCENE_FACTS] = 0
    for relation, a, b in scene.relations:
        row[SCENE_RELATIONS + relation * MAX_GROUPS + b] |= 1 << a
    row[SCENE_FACTS] = scene.facts
    return row


def encode_facts(facts: Facts, kind: Kind) -> Codes:
    """(FACTS_WIDTH,) int8."""
    row = np.full(FACTS_WIDTH, UNSAID, np.int8)
    row[FACTS_MENTIONS] = len(facts.mentions)
    for n, mention in enumerate(facts.mentions):
        row[FACTS_FIRST + n * MENTION_COLUMNS :][:MENTION_COLUMNS] = (*mention.attributes, mention.number)
    row[FACTS_BACKGROUND] = facts.background
    row[FACTS_RELATED] = len(facts.relations)
    for n, relation in enumerate(facts.relations):
        row[FACTS_RELATIONS + 3 * n :][:3] = relation
    row[FACTS_COUNT] = facts.count
    row[FACTS_KIND] = KINDS.index(kind)
    return row
