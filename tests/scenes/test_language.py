"""Captions of scenes: they state their facts, in one reading, in grammatical English, in the shares asked for."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from functools import cache
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracle_scenes as oracle
from tests.oracle_caption import NOTHING, Reading, readings
from vsebench.scenes.facts import AT_LEAST_TWO, UNSAID, Facts, Mention
from vsebench.scenes.sample import Draws, scenes
from vsebench.scenes.settings import parse
from vsebench.scenes.wording import Caption, captions, worded
from vsebench.scenes.world import Scene

SETS = ["scenes-tiny", "scenes-400-seed1-wrong0.4-generic0.2", "scenes-400-seed2-near0.9-tail1", "scenes-400-seed3"]
# SHA-256 of the texts and of the facts of all captions of scenes-tiny. Another value: other data under the same names.
TEXTS = "dfb742edd566"
FACTS = "009368ac364f"


@cache
def described(name: str) -> list[tuple[Scene, list[Caption]]]:
    settings = parse(name)
    return [(scene, captions(scene, image, settings)) for image, scene in enumerate(scenes(settings))]


def every(name: str) -> list[tuple[Scene, Caption]]:
    return [(scene, caption) for scene, five in described(name) for caption in five]


def stated(facts: Facts) -> Reading:
    """Facts as ``readings`` gives them."""
    mentions = [(m.shape, m.colour, m.size, m.texture, m.number) for m in facts.mentions]
    relations = [(r, mentions[a], mentions[b]) for r, a, b in facts.relations]
    return tuple(sorted(mentions)), tuple(sorted(relations)), facts.background


@pytest.mark.parametrize("name", SETS)
def test_a_caption_has_one_reading_which_is_what_it_states(name: str) -> None:
    for _, caption in every(name):
        assert readings(caption.text) == {stated(caption.content.facts)}, caption


def code(values: int) -> st.SearchStrategy[int]:
    return st.integers(UNSAID, values - 1)


NUMBERS = st.sampled_from([UNSAID, AT_LEAST_TWO, *range(1, 10)])
MENTIONS = st.builds(Mention, code(10), code(9), code(2), code(4), NUMBERS).filter(lambda mention: mention.facts > 0)


@given(st.lists(MENTIONS, max_size=4), st.lists(st.integers(0, 5), max_size=2), code(4), st.integers(0, 2**31))
def test_any_facts_can_be_worded(mentions: list[Mention], relations: list[int], background: int, seed: int) -> None:
    # Also those that no scene has, such as two equal mentions; but relations as captions have them: 1-2, 2-3.
    chain = [(r // 2, n, n + 1) if r % 2 else (r // 2, n + 1, n) for n, r in enumerate(relations)]
    facts = Facts(tuple(mentions), tuple(chain[: max(0, len(mentions) - 1)]), background)
    text = worded(facts, Draws(seed))
    assert readings(text) == {stated(facts)}, text


def test_the_parser_sees_what_is_ambiguous_or_wrong() -> None:
    """The rules at the head of ``vsebench/scenes/wording.py`` are needed."""
    for text in (
        "a star left of a ring and a box", "a star and a ring with dots", "red stars and hearts",
        "some red arrows with dots and some discs", "a star with dots above a square",
        "a square above a star with a checked pattern, which is left of a box",
        "a square above two stars with dots, which are left of a box",
    ):  # fmt: skip
        assert len(readings(text)) == 2, text
    for text in (
        "a pair of stars is above a box", "a group of stars are above a box", "two stars is above a box", "an star",
        "a orange star", "two star", "a stars", "there are a star", "there is two stars", "a Star", "red",
        "There is a star. there is also a box", "a star  above a box", "a box and a star and a ring",
        "a box, a star, a ring", "a box, and a star", "a star under a box", "a dotted star with dots",
        "a red green star", "a square above a star, which are left of a box",
        "a star on a grey background. the background is grey",
    ):  # fmt: skip
        assert not readings(text), text
    text = "On a gray background, two little violet discs with spots are left of a box. There is also a ring ."
    discs, box, ring = (0, 5, 0, 2, 2), (1, -1, -1, -1, -1), (6, -1, -1, -1, -1)
    assert readings(text) == {((discs, box, ring), ((0, discs, box),), 0)}


@pytest.mark.parametrize("name", SETS)
def test_true_captions_hold_wrong_ones_do_not_and_generic_ones_state_nothing(name: str) -> None:
    kinds = Counter()
    for scene, caption in every(name):
        kind, facts = caption.content.kind, caption.content.facts
        kinds[kind] += 1
        assert oracle.entails(facts, scene) == (kind == "true"), caption
        assert (oracle.stated(facts) == 0) == (kind == "generic")
        assert facts.count == oracle.stated(facts)
        # Each mention says something of its own, so that "a circle and a circle" does not occur.
        assert len({m.attributes for m in facts.mentions}) == len(facts.mentions)
    settings = parse(name)
    count = sum(kinds.values())
    assert count == 5 * settings.images
    for kind, share in (("wrong", settings.wrong), ("generic", settings.generic)):
        deviation = (count * share * (1 - share)) ** 0.5
        assert abs(kinds[kind] - count * share) <= 4 * deviation, kinds


def test_mentions_that_chance_has_made_equal_are_told_apart() -> None:
    """Of the 792nd scene of these settings, which is rare."""
    settings = parse("scenes-1k-near0.3-wrong0.1-generic0.2-miss0.2")
    scene = next(islice(scenes(settings), 791, None))
    for caption in captions(scene, 791, settings):
        mentions = caption.content.facts.mentions
        assert len({m.attributes for m in mentions}) == len(mentions)
        assert oracle.entails(caption.content.facts, scene) == (caption.content.kind == "true")


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("scenes-100-wrong0-generic0", {"true"}),
        ("scenes-100-wrong0.9-generic0", {"true", "wrong"}),
        ("scenes-100-wrong0-generic0.9", {"true", "generic"}),
    ],
)
def test_kinds_that_were_not_asked_for_do_not_occur(name: str, kinds: set[str]) -> None:
    assert {caption.content.kind for _, caption in every(name)} == kinds


def test_a_wrong_caption_ends_even_where_most_replaced_facts_are_true() -> None:
    """Where there are small and large objects, a mention of the size alone can only be made wrong by another fact."""
    from vsebench.scenes.content import wrong

    scene = next(s for s, _ in described("scenes-tiny") if len({g.size for g in s.groups}) == 2)
    for seed in range(50):
        facts = wrong(Facts((Mention(size=0),)), scene, Draws(seed))
        assert not oracle.entails(facts, scene)
        assert facts.background != UNSAID


def test_wordings_vary() -> None:
    """Every word of the parser occurs, and captions differ in length, in what they cover and in their form."""
    texts = [caption.text for _, caption in every("scenes-400-seed3")]
    words = Counter(word for text in texts for word in text.lower().replace(".", "").replace(",", "").split())
    for word in (
        "violet", "gray", "checkered", "stripy", "spotted", "solid", "tiny", "huge", "rhombus", "crescents", "hoop",
        "disc", "boxes", "sign", "which",
    ):  # fmt: skip
        assert words[word] >= 3, word
    for phrase in (
        "two ", " 3 ", "a pair of", "a group of", "multiple", "only one", "is drawn", "are placed", "partly hidden by",
        "partly covering", "with stripes", "with a checked pattern", "there is also", "higher up than", ", which ",
        "further right than", "against a", "background is", "as well as", "along with", ", and ",
    ):  # fmt: skip
        assert any(phrase in text for text in texts), phrase
    lengths = [len(text.split()) for text in texts]
    assert min(lengths) <= 2 and max(lengths) >= 30 and 8 <= sum(lengths) / len(lengths) <= 14
    counts = Counter(caption.content.facts.count for _, caption in every("scenes-400-seed3"))
    assert set(range(1, 20)) <= set(counts)
    numbers = {m.number for _, c in every("scenes-400-seed3") for m in c.content.facts.mentions}
    assert {NOTHING, 1, 2, 3, 4, 5, AT_LEAST_TWO} <= numbers
    assert len(set(texts)) > 0.8 * len(texts)


def hashes(texts: list[str], facts: list[str]) -> list[str]:
    return [hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12] for lines in (texts, facts)]


def test_the_captions_of_scenes_tiny_are_what_they_were() -> None:
    found = [caption for _, caption in every("scenes-tiny")]
    assert hashes([c.text for c in found], [str(stated(c.content.facts)) for c in found]) == [TEXTS, FACTS]


def interpreters() -> list[str]:
    """The Pythons of this machine that vsebench runs under."""
    folder = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    names = [f"python3.{minor}" for minor in range(10, 20)]
    found = [*filter(None, map(shutil.which, names)), *map(str, folder.glob("3.1?.*/bin/python"))]
    version = "import sys; print(sys.version)"
    run = {python: subprocess.run([python, "-c", version], capture_output=True, text=True) for python in found}
    return [*{done.stdout: python for python, done in run.items() if done.returncode == 0}.values()]


PROGRAM = """
import json, sys, types
package = types.ModuleType("vsebench")  # without vsebench/__init__.py, which needs numpy
package.__path__ = [sys.argv[1]]
sys.modules["vsebench"] = package
from vsebench.scenes import sample, settings, wording
asked = settings.parse("scenes-tiny")
shown = list(sample.scenes(asked))
found = [c for image, scene in enumerate(shown) for c in wording.captions(scene, image, asked)]
print(json.dumps([repr(shown), [c.text for c in found], [repr(c.content) for c in found]]))
"""


def test_every_python_makes_the_same_scenes_and_captions() -> None:
    import vsebench

    shown = described("scenes-tiny")
    found = [caption for _, caption in every("scenes-tiny")]
    expected = [repr([scene for scene, _ in shown]), [c.text for c in found], [repr(c.content) for c in found]]
    for python in [sys.executable, *interpreters()]:
        command = [python, "-I", "-c", PROGRAM, str(Path(vsebench.__file__).parent)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert expected == json.loads(done.stdout), python
