"""The scene graph of one caption or one set of captions, and SPICE of given pairs with its subscores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ...errors import BadInput
from ...types import Bool, Float, Int
from .encode import Encoded, Graphs, build, encode, offsets, similar_concepts, take_rows
from .postings import count_matches
from .tuples import Tuples, normal

Concept = frozenset[str]  # its words; its synsets are those of all of them


def _listed(text: str) -> frozenset[str]:
    return frozenset(text.split())


# The words of the attribute subsets are part of the definition of SPICE 1.0.
NUMBERS = _listed("one two three four five six seven eight nine ten")
COLORS = _listed(
    "beige black blue brown cream dark gray green grey light maroon orange pink purple red violet white yellow"
)
SIZES = _listed(
    """
    baby beefy big bony boundless brawny broad bulky chunky colossal compact corpulent cosmic cubby curvy elfin
    emaciated endless enormous epic expansive extensive fat fleshy full-size gargantuan gaunt giant gigantic grand
    great heavy hefty huge hulking illimitable immeasurable immense infinitesimal lanky large lean life-size limitless
    little mammoth massive meager measly microscopic mini miniature minuscule minute narrow obese outsized oversize
    overweight paltry petite pint-size plump pocket-size portly pudgy puny rotund scanty scraggy scrawny short sizable
    skeletal skimpy skinny slender slim small squat stocky stout strapping sturdy tall teensy teeny teeny-tiny
    teeny-weeny thick thickset thin tiny titanic towering trifling trim tubby undersized underweight unlimited vast wee
    whopping wide
    """
)
# The tuples of a subscore by size and, for attributes, by the words that count.
SUBSETS: dict[str, tuple[int, frozenset[str] | None]] = {
    "Object": (1, None),
    "Attribute": (2, None),
    "Relation": (3, None),
    "Cardinality": (2, NUMBERS),
    "Color": (2, COLORS),
    "Size": (2, SIZES),
}


@dataclass(frozen=True)
class Score:
    """SPICE of one pair over all tuples or a subset of them.

    Attributes:
        tp: candidate tuples that match at least one reference tuple.
        fp: the other candidate tuples.
        fn: reference tuples less ``tp``; negative when several candidate tuples match the same reference tuple.
        precision, recall, f: fractions (recall can exceed 1); None for a subset without reference tuples.
    """

    tp: int
    fp: int
    fn: int
    precision: float | None
    recall: float | None
    f: float | None


@dataclass(frozen=True, eq=False)
class Scores:
    """SPICE of many pairs over all tuples or a subset of them.

    Attributes:
        tp: (pair,) int64, candidate tuples that match at least one reference tuple.
        candidate, reference: (pair,) int64, how many tuples there are on each side.
        subset: whether pairs without reference tuples are undefined; of all tuples they score 0.
    """

    tp: Int
    candidate: Int
    reference: Int
    subset: bool

    @property
    def defined(self) -> Bool:
        """(pair,) bool, the pair has a value."""
        return (self.reference > 0) | (not self.subset)

    @property
    def f(self) -> Float:
        """(pair,) float64, 2 tp / (candidate + reference); 0 where both sides are empty or the value is undefined."""
        return _ratio(2 * self.tp, self.candidate + self.reference)

    def one(self, pair: int) -> Score:
        """One pair in full."""
        tp, n, m = int(self.tp[pair]), int(self.candidate[pair]), int(self.reference[pair])
        if self.subset and m == 0:
            return Score(tp, n - tp, m - tp, None, None, None)
        return Score(tp, n - tp, m - tp, tp / max(n, 1), tp / max(m, 1), 2 * tp / max(n + m, 1))


def graph(tuples: Tuples, texts: Sequence[str]) -> list[tuple[Concept, ...]]:
    """The tuples of the graph of some captions, merged in their order.

    A word joins the node that is exactly this word, else the most similar node (1 if the word is among its words,
    else the share of common synsets, above 0), else it is a new node. An attribute joins an equal, else the
    first similar attribute of its node, a relation likewise between its two nodes; similar is to share a word or a
    synset.

    Args:
        tuples: holds all the captions.
        texts: captions, in any white space.

    Returns:
        (object,), (object, attribute) and (source, target, relation), each element a set of words.

    Raises:
        BadInput: a caption is not among ``tuples``, or a word has no synsets.
    """
    encoded, rows = _encode(tuples, texts)
    graphs = build(encoded, np.array([0, len(rows)]), rows, threads=1)
    concepts = _concepts(encoded, graphs)
    return [tuple(concepts[c] for c in row if c >= 0) for row in graphs.tuples.tolist()]


def score_pairs(
    tuples: Tuples, candidates: Sequence[str], references: Sequence[Sequence[str]], threads: int | None = None
) -> dict[str, Scores]:
    """SPICE of candidate captions against sets of reference captions, and its subscores.

    Args:
        tuples: holds all the captions.
        candidates: (pair,) captions.
        references: (pair,) reference captions, merged into one graph in their order.
        threads: how many work at it; the values are the same.

    Returns:
        ``All``, then the subsets: ``Object``, ``Attribute``, ``Relation`` by the size of a tuple, and of the
        attributes ``Cardinality``, ``Color``, ``Size`` whose concept is one listed word. Both sides are reduced to
        the subset before they are compared (Anderson et al., ECCV 2016; SPICE 1.0).

    Raises:
        BadInput: a caption is not among ``tuples``, the lengths differ, or a word has no synsets.
    """
    if len(candidates) != len(references):
        raise BadInput(f"{len(candidates)} candidates for {len(references)} reference sets", fix="give one set a pair")
    n = len(candidates)
    encoded, rows = _encode(tuples, [*candidates, *(text for texts in references for text in texts)])
    counts = np.fromiter(map(len, references), np.int64, n)
    # equal captions and equal reference sets have one graph
    sets: dict[bytes, int] = {}
    edges = n + offsets(counts)
    of_pair = [sets.setdefault(rows[a:b].tobytes(), len(sets)) for a, b in pairwise(edges)]
    members = [np.frombuffer(key, np.int64) for key in sets]
    n_text = len(encoded.text_ptr) - 1
    member_ptr = np.concatenate([np.arange(n_text), n_text + offsets(np.array([len(m) for m in members], np.int64))])
    graphs = build(encoded, member_ptr, np.concatenate([np.arange(n_text), *members]), threads)
    near_ptr, near = similar_concepts(encoded, graphs)
    left_graph, right_graph = rows[:n], n_text + np.array(of_pair, np.int64)

    def score(keep: Bool, subset: bool) -> Scores:
        kept = np.concatenate([[0], np.cumsum(keep)])[graphs.ptr]  # where graphs begin among the tuples kept
        chosen = graphs.tuples[keep]
        left_ptr, left = take_rows(kept, left_graph)
        right_ptr, right = take_rows(kept, right_graph)
        tp = count_matches((left_ptr, chosen[left]), (right_ptr, chosen[right]), near_ptr, near, threads)
        return Scores(tp, np.diff(left_ptr), np.diff(right_ptr), subset)

    everything = np.ones(len(graphs.tuples), bool)
    return {"All": score(everything, False)} | {
        name: score(_in_subset(encoded, graphs, size, listed), True) for name, (size, listed) in SUBSETS.items()
    }


def pair_scores(tuples: Tuples, candidate: str, references: Sequence[str]) -> dict[str, Score]:
    """SPICE of one caption against reference captions: ``All`` and the subsets of ``score_pairs``."""
    return {name: scores.one(0) for name, scores in score_pairs(tuples, [candidate], [references], 1).items()}


def _encode(tuples: Tuples, texts: Iterable[str]) -> tuple[Encoded, Int]:
    """The tuples of some captions, and (n,) int64 which of its texts each of them is."""
    spoken = [normal(text) for text in texts]
    number = {text: i for i, text in enumerate(dict.fromkeys(spoken))}
    missing = [text for text in number if text not in tuples.row]
    if missing:
        raise BadInput(
            f"{len(missing):,} of {len(number):,} captions have no SPICE tuples (first: '{missing[0][:60]}')",
            fix="parse them: vsebench relevance build spice --captions FILE",
        )
    rows = np.fromiter((number[text] for text in spoken), np.int64, len(spoken))
    return encode([tuples.tuples[tuples.row[text]] for text in number], tuples.synsets), rows


def _concepts(encoded: Encoded, graphs: Graphs) -> list[Concept]:
    ptr, words = graphs.concept_ptr.tolist(), graphs.concept_words.tolist()
    return [frozenset(encoded.words[w] for w in words[a:b]) for a, b in pairwise(ptr)]


def _in_subset(encoded: Encoded, graphs: Graphs, size: int, listed: frozenset[str] | None) -> Bool:
    """(tuple,) bool, the tuples of a subset."""
    keep: Bool = (graphs.tuples >= 0).sum(1) == size
    if listed is None:
        return keep
    # a concept of one word has the number of the word; one of several words is never listed
    good = np.zeros(len(graphs.concept_ptr) - 1, bool)
    good[: len(encoded.words)] = [word in listed for word in encoded.words]
    return keep & good[graphs.tuples[:, 1]]


def _ratio(a: Int, b: Int) -> Float:
    return np.divide(a, b, out=np.zeros(len(a)), where=b > 0)
