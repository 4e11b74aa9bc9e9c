"""CIDEr by its formula, one pair at a time, with dictionaries of tuples; shares no code with the library."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

Tokens = Sequence[str]
Counts = Counter[tuple[str, ...]]


def ngrams(tokens: Tokens) -> Counts:
    """How often every n-gram of 1 to 4 tokens occurs."""
    return Counter(tuple(tokens[i : i + n]) for n in range(1, 5) for i in range(len(tokens) - n + 1))


def document_frequency(references: Sequence[Sequence[Tokens]]) -> Counts:
    """In how many images an n-gram occurs."""
    df: Counts = Counter()
    for captions in references:
        df.update(set().union(*(ngrams(c) for c in captions)) if captions else set())
    return df


def cider(
    candidate: Tokens, references: Sequence[Tokens], df: Counts, images: int, variant: str = "d", sigma: float = 6.0
) -> float:
    """10 times the mean over n and references of the (clipped, length-penalised) cosine of tf-idf vectors."""
    if not references:
        return 0.0

    def weights(tokens: Tokens, n: int) -> dict[tuple[str, ...], float]:
        counted = {g: k for g, k in ngrams(tokens).items() if len(g) == n}
        return {g: k * (math.log(images) - math.log(max(1, df[g]))) for g, k in counted.items()}

    total = 0.0
    for reference in references:
        for n in range(1, 5):
            c, r = weights(candidate, n), weights(reference, n)
            size = math.sqrt(sum(v * v for v in c.values())) * math.sqrt(sum(v * v for v in r.values()))
            if size == 0:
                continue
            clipped = (min(v, r[g]) * r[g] if variant == "d" else v * r[g] for g, v in c.items() if g in r)
            difference = max(len(candidate) - 1, 0) - max(len(reference) - 1, 0)  # lengths are numbers of bigrams
            total += sum(clipped) / size * (math.exp(-(difference**2) / (2 * sigma**2)) if variant == "d" else 1.0)
    return 10.0 * total / 4 / len(references)
