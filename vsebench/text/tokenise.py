"""The tokenisers by name, and the original Penn Treebank tokeniser: a Java program in the package ``pycocoevalcap``."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from ..data.splits.packages import INSTALL, package_file
from ..errors import BadInput, MissingPackage
from ..registry import unknown
from . import ptb
from .tokens import Tokens, from_lists

JAR = "tokenizer/stanford-corenlp-3.4.1.jar"
COMMAND = ("edu.stanford.nlp.process.PTBTokenizer", "-preserveLines", "-lowerCase")


def whitespace(captions: Sequence[str]) -> Tokens:
    """Lower case, split at white space; punctuation stays attached to its word."""
    return from_lists(caption.lower().split() for caption in captions)


def ptb_java(captions: Sequence[str]) -> Tokens:
    """Lower-case Penn Treebank tokens without punctuation, by the original. Takes 0.5 s and 0.02 s a thousand captions.

    Args:
        captions: (caption,) strings. A line end inside a caption counts as a space.

    Raises:
        MissingPackage: ``pycocoevalcap`` or Java is not installed.
        BadInput: the tokeniser failed, or did not return one line for every caption.
    """
    from .java import find_java

    jar = package_file("pycocoevalcap", JAR)
    if jar is None:
        raise MissingPackage("package 'pycocoevalcap' is not installed; it holds the Java tokeniser", fix=INSTALL)
    java = next(iter(find_java().home.glob("bin/java*")))
    with tempfile.TemporaryDirectory(prefix="vsebench-") as folder:
        path = Path(folder) / "captions.txt"
        path.write_bytes("\n".join(ptb.LINE_ENDS.sub(" ", caption) for caption in captions).encode("utf-8", "replace"))
        command = [str(java), "-Dfile.encoding=UTF-8", "-cp", str(jar), *COMMAND, str(path)]
        done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        errors = done.stderr.decode("utf-8", "replace").strip().split("\n")
        raise BadInput(f"the Java tokeniser failed: {errors[-1][:200]}", where=jar, fix="take tokens=ptb, without Java")
    lines = done.stdout.decode("utf-8").split("\n")[: max(len(captions), 1)] if captions else []
    if len(lines) != len(captions):
        what = f"the Java tokeniser returned {len(lines)} lines for {len(captions)} captions"
        raise BadInput(what, where=jar, fix="take tokens=ptb, without Java")
    # Tokens are separated by spaces; one that contains other white space (a tag, a telephone number) counts as several.
    kept = ([token for token in line.rstrip().split(" ") if token not in ptb.DROPPED] for line in lines)
    return from_lists(" ".join(tokens).split() for tokens in kept)


TOKENISERS: dict[str, Callable[[Sequence[str]], Tokens]] = {
    "ptb": ptb.tokenise,
    "whitespace": whitespace,
    "ptb-java": ptb_java,
}


def tokenise(captions: Sequence[str], how: str = "ptb") -> Tokens:
    """The tokens of captions.

    Args:
        captions: (caption,) strings; their order can matter, see ``ptb``.
        how: ``ptb``: lower-case Penn Treebank tokens without punctuation, those of the PTBTokenizer of
            ``pycocoevalcap``; ``ptb-java``: by that tokeniser itself; ``whitespace``: lower case, split at white space.

    Raises:
        UsageError: no such tokeniser.
        MissingPackage: ``ptb-java`` without Java or ``pycocoevalcap``.
    """
    if how not in TOKENISERS:
        raise unknown("tokeniser", how, TOKENISERS)
    return TOKENISERS[how](captions)
