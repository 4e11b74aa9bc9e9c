"""The jars that SPICE needs: found where they are installed, or downloaded once into the user cache.

The package pycocoevalcap has SPICE 1.0 and METEOR 1.5; CoreNLP 3.6.0 and its models (385 MB) are in no Python package.
Every jar on which tuples depend is compared with its known SHA-256, so that a caption has the same tuples on every
machine.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable
from pathlib import Path

from ....data.atomic import make_folder, write_atomically
from ....data.cache import cache_dir
from ....data.lock import locked
from ....data.regular import sha256_of
from ....data.splits.packages import package_file
from ....errors import BadInput, DiskError, MissingPackage

VARIABLE = "VSEBENCH_SPICE_JARS"
CODE, MODELS = "stanford-corenlp-3.6.0.jar", "stanford-corenlp-3.6.0-models.jar"
SHA256 = {
    CODE: "d341d5863276f55782c5ef73212222d6b3b48e02ae1951ab6de7618d28b12742",
    MODELS: "d285157bd7887ee3018094b5dbae092e49088b023361ccdb550ee1daf9b2c9bd",
    "spice-1.0.jar": "6c6a73ae6dd108667047c1818707590413934dcb9f1a62cef6469059b41b3d59",
    "Meteor-1.5.jar": "014a3627d277a6f4ba5b44a20733f8dff28bbb428204c36abfda56565658ba09",
    "SceneGraphParser-1.0.jar": "83a1b7c3f896dd135f9539ba41d65b155827dfc312893bfd5bb835c9f9ae310a",
}
# SHA-256 over (name, size, CRC-32) of the files inside, for jars with the same content packed at another time.
CONTENT = {
    CODE: "068c248b051c79f7f3e97815430bdb96312e9223cf7ef6d78dcabfae89df4391",
    MODELS: "8869c1609dea7fed443db7cadf7d3ad1a6eb1fe96500749a5e845c5513634c78",
}
INSTALL = "pip install 'vsebench[spice]'"
MAVEN = "edu.stanford.nlp:stanford-corenlp:3.6.0"
STANFORD = "https://nlp.stanford.edu/software/stanford-corenlp-full-2015-12-09.zip"
ATTEMPTS = 5  # connections before it fails
EVERY = 10.0  # seconds between lines of progress
SPACE = 1 << 30  # bytes

Note = Callable[[str], None]


def class_path(note: Note = lambda _: None) -> list[str]:
    """The class path for Java; CoreNLP is downloaded when it is not found.

    CoreNLP is searched in the folders of ``VSEBENCH_SPICE_JARS``, in pycocoevalcap, in the local Maven repository and
    in the user cache. Otherwise it is downloaded by Maven, or from Stanford.

    Args:
        note: called with lines of information.

    Raises:
        MissingPackage: pycocoevalcap is not installed, or CoreNLP cannot be downloaded.
        BadInput: a jar is damaged or another version.
    """
    spice = package_file("pycocoevalcap", "spice/spice-1.0.jar")
    if spice is None:
        raise MissingPackage("package 'pycocoevalcap' is not installed; it has SPICE and METEOR", fix=INSTALL)
    library = spice.parent / "lib"
    own = [path for path in sorted(library.glob("*.jar")) if path.name not in (CODE, MODELS)]
    for path in (spice, library / "Meteor-1.5.jar", library / "SceneGraphParser-1.0.jar"):
        _check(path, "reinstall it: pip install --force-reinstall --no-cache-dir pycocoevalcap==1.2")
    folder = find() or fetch(note)
    for name in (CODE, MODELS):
        _check(folder / name, "remove this file; vsebench relevance build spice fetches it again")
    return [str(path) for path in (spice, *own, folder / CODE, folder / MODELS)]


def find() -> Path | None:
    """The folder with both CoreNLP jars; None when there is none.

    Raises:
        BadInput: ``VSEBENCH_SPICE_JARS`` is set, and none of its folders has both.
    """
    given = os.environ.get(VARIABLE, "")
    if given:
        folders = [Path(part).expanduser() for part in given.split(os.pathsep) if part]
        for folder in folders:
            if _has_both(folder):
                return folder
        what = f"{VARIABLE} is '{given}', which does not have both {CODE} and {MODELS}"
        raise BadInput(what, fix=f"put both there, or unset it: {_manual_steps('FOLDER')}")
    spice = package_file("pycocoevalcap", "spice/spice-1.0.jar")
    places = [spice.parent / "lib"] if spice else []
    places += [Path.home() / ".m2/repository/edu/stanford/nlp/stanford-corenlp/3.6.0", tools_folder()]
    return next((folder for folder in places if _has_both(folder)), None)


def fetch(note: Note = lambda _: None) -> Path:
    """Download both CoreNLP jars into the user cache, by Maven or else from Stanford; returns the folder.

    Raises:
        MissingPackage: both ways fail; the message has the commands for doing it by hand.
        BadInput: a downloaded jar is not CoreNLP 3.6.0.
        DiskError: the folder cannot be made.
    """
    folder = tools_folder()
    if os.environ.get("VSEBENCH_OFFLINE", "") not in ("", "0"):
        raise _unobtainable("VSEBENCH_OFFLINE forbids downloading it")
    make_folder(folder)
    with locked(folder / ".fetching", "CoreNLP is being downloaded", waiting=note):
        return folder if _has_both(folder) else _fetch_into(folder, note)


def _fetch_into(folder: Path, note: Note) -> Path:
    free = shutil.disk_usage(folder).free
    if free < SPACE:
        what = f"{free / 1e9:.1f} GB are free, {SPACE / 1e9:.1f} GB are needed"
        raise DiskError(what, where=folder, fix="free some space, or set VSEBENCH_CACHE to a folder on another disk")
    reasons = []
    for download_jars in (_by_maven, _from_stanford):
        try:
            download_jars(folder, note)
        except MissingPackage as error:
            reasons.append(error.what)
            continue
        for name in (CODE, MODELS):
            try:
                _check(folder / name, "try again")
            except BadInput:
                (folder / name).unlink(missing_ok=True)
                raise
        return folder
    raise _unobtainable("; ".join(reasons))


def tools_folder() -> Path:
    """The folder of downloaded jars; only ``vsebench relevance clear tools`` removes them."""
    return cache_dir() / "tools" / "corenlp-3.6.0"


def content_sha256(path: Path) -> str:
    """64 hexadecimal digits over the sorted (name, size, CRC-32) of the files inside a jar, META-INF left out.

    Raises:
        BadInput: not a zip file.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            inside = sorted(
                (i.filename, i.file_size, i.CRC)
                for i in archive.infolist()
                if not i.is_dir() and not i.filename.startswith("META-INF/")
            )
    except (zipfile.BadZipFile, OSError) as error:
        raise BadInput(f"not a jar: {error}", where=path) from error
    return hashlib.sha256("".join(f"{n} {s} {c:08x}\n" for n, s, c in inside).encode()).hexdigest()


def _check(path: Path, fix: str) -> None:
    if not path.is_file():
        raise BadInput("the jar is missing", where=path, fix=fix)
    digest = sha256_of(path)
    if digest == SHA256[path.name]:
        return
    try:
        if content_sha256(path) == CONTENT.get(path.name):
            return
    except BadInput as error:
        raise BadInput(f"the jar is damaged ({error.what})", where=path, fix=fix) from error
    raise BadInput(
        f"the jar is another version: its SHA-256 is {digest[:16]}..., expected "
        f"{SHA256[path.name][:16]}...; its tuples would not be comparable",
        where=path,
        fix=fix,
    )


def _has_both(folder: Path) -> bool:
    return (folder / CODE).is_file() and (folder / MODELS).is_file()


def _by_maven(folder: Path, note: Note) -> None:
    program = shutil.which("mvn")
    if program is None:
        raise MissingPackage("Maven (mvn) is not on the path")
    for name, artifact in ((CODE, MAVEN), (MODELS, f"{MAVEN}:jar:models")):
        if (folder / name).is_file():
            continue
        size = "378 MB, some minutes" if name == MODELS else "7 MB"
        note(f"fetching {name} ({size}) through Maven into {folder}")
        staging = folder / "maven"
        command = [program, "-q", "-B", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={staging}"]
        status, output = _run_with_progress(command, folder, f"fetching {name}", note)
        if status or not (staging / name).is_file():
            errors = [line for line in output if "ERROR" in line]
            raise MissingPackage(f"Maven failed: {(errors or ['no message'])[0][:300]}")
        (staging / name).replace(folder / name)
        shutil.rmtree(staging, ignore_errors=True)


def _run_with_progress(command: list[str], folder: Path, words: str, note: Note) -> tuple[int, list[str]]:
    """Exit status and output lines of a command that may take minutes; ``note`` gets the elapsed time regularly."""
    started = time.monotonic()
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        with subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output) as process:
            try:
                while True:
                    try:
                        status = process.wait(EVERY)
                        break
                    except subprocess.TimeoutExpired:
                        note(f"{words}: {time.monotonic() - started:.0f} s")
            except BaseException:
                process.kill()
                raise
        output.seek(0)
        return status, output.read().split("\n")


def _from_stanford(folder: Path, note: Note) -> None:
    archive = folder / STANFORD.rpartition("/")[2]
    if not archive.is_file():
        download(STANFORD, archive, note)
    note(f"unpacking {archive.name}")
    try:
        with zipfile.ZipFile(archive) as packed:
            for name in (CODE, MODELS):
                with packed.open(f"{archive.stem}/{name}") as source, write_atomically(folder / name) as target:
                    shutil.copyfileobj(source, target, 1 << 20)
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise BadInput(f"the download is damaged ({error})", where=archive, fix="try again") from error
    finally:
        archive.unlink(missing_ok=True)


def _unobtainable(why: str) -> MissingPackage:
    what = f"CoreNLP 3.6.0, which parses the captions, is not installed: {why}"
    return MissingPackage(what, fix=_manual_steps(tools_folder()))


def _manual_steps(folder: object) -> str:
    return (
        f"on a machine with a network run: for a in {MAVEN} {MAVEN}:jar:models; do mvn dependency:copy "
        f"-Dartifact=$a -DoutputDirectory={folder}; done  (or unpack both jars of {STANFORD} into {folder})"
    )


def download(address: str, path: Path, note: Callable[[str], None], pause: float = 1.0) -> None:
    """Download a file over HTTP; a connection that ends early is tried again from the beginning.

    Args:
        address: the URL.
        path: the file, which exists once it is complete.
        note: called with a line of progress every ten seconds.
        pause: seconds before the second attempt, doubled for every further one.

    Raises:
        MissingPackage: the server cannot be reached or has no such file.
        DiskError: no space is left.
    """
    why = "no answer"
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(pause * 2.0**attempt)
        try:
            with urllib.request.urlopen(address, timeout=60) as answer, write_atomically(path) as stream:
                done, total, noted = 0, int(answer.headers.get("Content-Length") or 0), time.monotonic()
                while block := answer.read(1 << 18):
                    stream.write(block)
                    done += len(block)
                    if time.monotonic() - noted >= EVERY:
                        noted = time.monotonic()
                        note(f"fetching {path.name}: {done / 1e6:.0f}{f' of {total / 1e6:.0f}' if total else ''} MB")
                if done < total:
                    raise http.client.HTTPException("the connection ended early")
            return
        except urllib.error.HTTPError as error:
            if error.code < 500:
                raise MissingPackage(f"{address} answers {error.code} {error.reason}") from error
            why = f"the server answers {error.code}"
        except (OSError, http.client.HTTPException) as error:
            why = str(getattr(error, "reason", error)) or type(error).__name__
    raise MissingPackage(f"{address} cannot be fetched: {why}")
