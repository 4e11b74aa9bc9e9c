"""SPICE by its definition, in plain loops over sets of words and synsets, with exact fractions.

It shares no code with the library.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

Words = tuple[str, ...]
Synsets = Mapping[str, Iterable[int]]


@dataclass(eq=False)
class Concept:
    """Words that were found similar."""

    words: set[str]
    synsets: set[int]

    def equals(self, other: Concept) -> bool:
        return self.words == other.words and self.synsets == other.synsets

    def similar(self, other: Concept) -> bool:
        return bool(self.words & other.words) or bool(self.synsets & other.synsets)

    def similarity(self, other: Concept) -> Fraction:
        if self.words & other.words:
            return Fraction(1)
        either = self.synsets | other.synsets
        return Fraction(len(self.synsets & other.synsets), len(either)) if either else Fraction(0)

    def merge(self, other: Concept) -> None:
        self.words |= other.words
        self.synsets |= other.synsets


@dataclass(eq=False)
class Node:
    """An object and its attributes."""

    concept: Concept
    attributes: list[Concept] = field(default_factory=list)


@dataclass(eq=False)
class Edge:
    """A relation from one node to another."""

    source: Node
    target: Node
    concept: Concept


def merged(new: Concept, present: list[Concept]) -> bool:
    """Whether an equal concept is present, or a similar one, into which the new one is merged."""
    if any(new.equals(old) for old in present):
        return True
    for old in present:
        if new.similar(old):
            old.merge(new)
            return True
    return False


class Scene:
    """A graph to which tuples are added one by one."""

    def __init__(self, synsets: Synsets):
        self.synsets = synsets
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []

    def concept(self, word: str) -> Concept:
        return Concept({word}, set(self.synsets[word]))

    def node(self, word: str) -> Node:
        new = self.concept(word)
        for node in self.nodes:
            if new.equals(node.concept):
                return node
        near = [new.similarity(node.concept) for node in self.nodes]
        if near and max(near) > 0:
            best = self.nodes[near.index(max(near))]
            best.concept.merge(new)
            return best
        self.nodes.append(Node(new))
        return self.nodes[-1]

    def add(self, item: Words) -> None:
        if len(item) == 1:
            self.node(item[0])
        elif len(item) == 2:
            node = self.node(item[0])
            new = self.concept(item[1])
            if not merged(new, node.attributes):
                node.attributes.append(new)
        else:
            source = self.node(item[0])
            target = self.node(item[1])
            new = self.concept(item[2][3:] if item[2].startswith("be ") else item[2])
            between = [e.concept for e in self.edges if e.source is source and e.target is target]
            if not merged(new, between):
                self.edges.append(Edge(source, target, new))

    def tuples(self) -> list[tuple[Concept, ...]]:
        objects = [(node.concept,) for node in self.nodes]
        attributes = [(node.concept, a) for node in self.nodes for a in node.attributes]
        return [*objects, *attributes, *((e.source.concept, e.target.concept, e.concept) for e in self.edges)]


def scene(captions: Iterable[Sequence[Words]], synsets: Synsets) -> list[tuple[Concept, ...]]:
    """The tuples of one graph over all captions, in their order."""
    made = Scene(synsets)
    for tuples in captions:
        for item in tuples:
            made.add(item)
    return made.tuples()


def named(tuples: Iterable[tuple[Concept, ...]]) -> list[list[list[str]]]:
    """Tuples as sorted lists of sorted words, to compare graphs."""
    return sorted([sorted(c.words) for c in item] for item in tuples)


def counts(candidate: list[tuple[Concept, ...]], reference: list[tuple[Concept, ...]]) -> tuple[int, int, int]:
    """tp and the sizes of both sides."""
    tp = 0
    for one in candidate:
        tp += any(
            len(one) == len(two) and all(a.similar(b) for a, b in zip(one, two, strict=True)) for two in reference
        )
    return tp, len(candidate), len(reference)


def f_score(tp: int, candidate: int, reference: int) -> Fraction:
    """The harmonic mean of precision and recall, 0 when one of them is 0 or undefined."""
    if tp == 0 or candidate == 0 or reference == 0:
        return Fraction(0)
    precision, recall = Fraction(tp, candidate), Fraction(tp, reference)
    return 2 * precision * recall / (precision + recall)


def matrix(
    captions: Sequence[Sequence[Words]], image_of: Sequence[int], images: int, synsets: Synsets, leave_out: bool
) -> list[list[Fraction]]:
    """F of every image (rows) with every caption (columns)."""
    candidates = [scene([tuples], synsets) for tuples in captions]
    out = []
    for image in range(images):
        own = [c for c, owner in enumerate(image_of) if owner == image]
        everything = scene([captions[c] for c in own], synsets)
        row = []
        for c in range(len(captions)):
            others = scene([captions[x] for x in own if x != c], synsets) if leave_out and c in own else everything
            row.append(f_score(*counts(candidates[c], others)))
        out.append(row)
    return out
