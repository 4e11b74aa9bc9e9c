"""The jars that SPICE needs: found where they are installed, or downloaded once into the user cache.

The package pycocoevalcap has SPICE 1.0 and METEOR 1.5; CoreNLP 3.6.0 and its models (385 MB) are in no Python package.
Every jar on which tuples depend is compared with the known one, so that a caption has the same tuples on every machine.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import shutil
import urllib.request
import zipfile
from collections.abc import Callable
from pathlib import Path

from ....errors import BadInput, MissingPackage
from ....files.atomic import make_folder, write_atomically
from ....files.regular import cache_dir, expanded
from ....sets.stored import package_file

VARIABLE = "VSEBENCH_SPICE_JARS"
CODE, MODELS = "stanford-corenlp-3.6.0.jar", "stanford-corenlp-3.6.0-models.jar"
# Of ``content_sha256``: the archive of Stanford has the same files as Maven's jars, packed at another time.
CONTENT = {
    "spice-1.0.jar": "e04c5f8c4ab4fa41408eb62f2fb5f30df9734d7d56df3973d4e832f5f06f973a",
    "Meteor-1.5.jar": "e93e3c65f812a386c62000ac28395eb7a513005ea2d1173032a1415d83bed1e9",
    "SceneGraphParser-1.0.jar": "634b3daa5a447d7ca377686205e6da36f319fcfb9b7ad4552e388a5c48504c3a",
    CODE: "068c248b051c79f7f3e97815430bdb96312e9223cf7ef6d78dcabfae89df4391",
    MODELS: "8869c1609dea7fed443db7cadf7d3ad1a6eb1fe96500749a5e845c5513634c78",
}
INSTALL = "pip install 'vsebench[spice]'"
STANFORD = "https://nlp.stanford.edu/software/stanford-corenlp-full-2015-12-09.zip"
MAVEN = "edu.stanford.nlp:stanford-corenlp:3.6.0"

Note = Callable[[str], object]


def class_path(note: Note = lambda _: None) -> list[str]:
    """The class path for Java; CoreNLP is downloaded when it is not found.

    Args:
        note: called with lines of information.

    Raises:
        MissingPackage: pycocoevalcap is not installed, or CoreNLP cannot be downloaded.
        BadInput: a jar is damaged or another version.
    """
    spice = package_file("pycocoevalcap", "spice/spice-1.0.jar")
    if spice is None:
        raise MissingPackage("package 'pycocoevalcap' is not installed; it has SPICE and METEOR", fix=INSTALL)
    folder = find() or fetch(note)
    others = [path for path in sorted((spice.parent / "lib").glob("*.jar")) if path.name not in (CODE, MODELS)]
    jars = [spice, *others, folder / CODE, folder / MODELS]
    for path in jars:
        if path.name in CONTENT and content_sha256(path) != CONTENT[path.name]:
            what = "the jar is another version; its tuples would not be comparable"
            raise BadInput(what, where=path, fix="remove it and install it again")
    return [str(path) for path in jars]


def find() -> Path | None:
    """The folder with both CoreNLP jars; None when there is none.

    It is searched in the folders of ``VSEBENCH_SPICE_JARS``, else in pycocoevalcap, in the local Maven repository and
    in the user cache.

    Raises:
        BadInput: ``VSEBENCH_SPICE_JARS`` is set, and none of its folders has both.
    """
    given = os.environ.get(VARIABLE, "")
    spice = package_file("pycocoevalcap", "spice/spice-1.0.jar")
    places = [expanded(part) for part in given.split(os.pathsep) if part]
    if not given:
        places = [spice.parent / "lib"] if spice else []
        places += [Path.home() / ".m2/repository/edu/stanford/nlp/stanford-corenlp/3.6.0", tools_folder()]
    found = next((folder for folder in places if all((folder / name).is_file() for name in (CODE, MODELS))), None)
    if given and not found:
        what = f"{VARIABLE} is '{given}', which does not have both {CODE} and {MODELS}"
        raise BadInput(what, fix=f"put both there, or unset it: {_by_hand('FOLDER')}")
    return found


def tools_folder() -> Path:
    """The folder of downloaded jars; only ``vsebench cache clear tools`` removes them."""
    return cache_dir() / "tools" / "corenlp-3.6.0"


def fetch(note: Note = lambda _: None) -> Path:
    """Download the archive of CoreNLP and unpack its jars into the user cache; returns their folder.

    One build at a time calls this.

    Raises:
        MissingPackage: it cannot be downloaded; the message has the commands for doing it by hand.
        BadInput: the archive is damaged, or a jar is another version.
        DiskError: no space is left, or the folder cannot be made.
    """
    folder = tools_folder()
    if os.environ.get("VSEBENCH_OFFLINE", "") not in ("", "0"):
        raise _missing("VSEBENCH_OFFLINE forbids downloading it")
    make_folder(folder)
    archive = folder / STANFORD.rpartition("/")[2]
    note(f"fetching {STANFORD} into {folder}")
    try:
        with urllib.request.urlopen(STANFORD, timeout=60) as answer, write_atomically(archive) as stream:
            shutil.copyfileobj(answer, stream, 1 << 20)
        with zipfile.ZipFile(archive) as packed:
            for name in (CODE, MODELS):
                with packed.open(f"{archive.stem}/{name}") as source, write_atomically(folder / name) as target:
                    shutil.copyfileobj(source, target, 1 << 20)
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise BadInput(f"the download is damaged ({error})", where=STANFORD, fix="run the command again") from error
    except (OSError, http.client.HTTPException) as error:
        raise _missing(f"{STANFORD} cannot be fetched: {error}") from error
    finally:
        archive.unlink(missing_ok=True)
    return folder


def content_sha256(path: Path) -> str:
    """64 hexadecimal digits over the sorted (name, size, CRC-32) of the files inside a jar, META-INF left out.

    Raises:
        BadInput: missing, or not a zip file.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            inside = sorted((i.filename, i.file_size, i.CRC) for i in archive.infolist() if not i.is_dir())
    except (zipfile.BadZipFile, OSError) as error:
        what = f"the jar is damaged ({error})"
        raise BadInput(what, where=path, fix="remove it and install it again") from error
    lines = (f"{n} {s} {c:08x}\n" for n, s, c in inside if not n.startswith("META-INF/"))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _missing(why: str) -> MissingPackage:
    what = f"CoreNLP 3.6.0, which parses the captions, is not installed: {why}"
    return MissingPackage(what, fix=_by_hand(tools_folder()))


def _by_hand(folder: object) -> str:
    return (
        f"on a machine with a network unpack both jars of {STANFORD} into {folder}, or run: for a in {MAVEN} "
        f"{MAVEN}:jar:models; do mvn dependency:copy -Dartifact=$a -DoutputDirectory={folder}; done"
    )
