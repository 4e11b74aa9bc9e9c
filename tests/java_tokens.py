"""The original of the tokeniser ``ptb``: a Java program in the package ``pycocoevalcap``."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from vsebench.errors import VsebenchError
from vsebench.sets.packages import package_file
from vsebench.text import ptb
from vsebench.text.java import find_java
from vsebench.text.tokens import Tokens, from_lists

JAR = "tokenizer/stanford-corenlp-3.4.1.jar"
COMMAND = ("edu.stanford.nlp.process.PTBTokenizer", "-preserveLines", "-lowerCase")


def java_tokens(captions: Sequence[str]) -> Tokens:
    """Lower-case tokens without punctuation, a line end being a space; skips without the package or Java."""
    jar = package_file("pycocoevalcap", JAR)
    if jar is None:
        pytest.skip("pycocoevalcap is not installed (pip install 'vsebench[text]')")
    try:
        java = next(iter(find_java().home.glob("bin/java*")))
    except VsebenchError as error:
        pytest.skip(error.what)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "captions.txt"
        path.write_bytes("\n".join(ptb.LINE_ENDS.sub(" ", caption) for caption in captions).encode("utf-8", "replace"))
        command = [str(java), "-Dfile.encoding=UTF-8", "-cp", str(jar), *COMMAND, str(path)]
        done = subprocess.run(command, capture_output=True, check=True)
    lines = done.stdout.decode("utf-8").split("\n")[: max(len(captions), 1)] if captions else []
    assert len(lines) == len(captions)
    # Tokens are separated by spaces; one that contains other white space (a tag, a telephone number) counts as several.
    kept = ([token for token in line.rstrip().split(" ") if token not in ptb.DROPPED] for line in lines)
    return from_lists(" ".join(tokens).split() for tokens in kept)
