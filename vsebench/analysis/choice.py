"""Choices between captions: the shares of right choices by category, with intervals over images."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from ..arrays import is_path, numbers
from ..errors import UsageError, count_of, format_value
from ..evaluation.assemble import interval
from ..evaluation.inputs import of_vectors, raw_vectors
from ..evaluation.misread import CHANCE_P_VALUE, of_mean
from ..evaluation.request import Request, request
from ..evaluation.top_scored import MIN_IMAGES
from ..files.read import group
from ..files.regular import expanded, read_once
from ..log import logged
from ..numeric.parallel import default_threads
from ..options import public, spell
from ..results import table
from ..results.model import Resampling, interval_words, printed
from ..results.render import Result
from ..results.table import Entry, Table, Text, Value, records, sentences
from ..sets.choices.items import ChoiceSet, words
from ..sets.choices.layouts import load, of_list
from ..sets.choices.scores import check_scores, holds_scores, order_of_pairs, read_scores
from ..sets.items import only
from ..sets.owners import in_order
from ..stats import bootstrap
from ..stats.columns import Column, Population, Sum, plain_values, prepare
from ..types import Float
from .systems import named, names_of

LENGTH = "length"  # the baseline that chooses the shorter caption
MAX_P_BELOW = 1e-6  # p-value from which choices are called worse than random
MIN_TIE_SHARE = 0.01  # share of ties from which there is a warning
HALF_PRECISION_BITS = 11  # binary digits of a number of half precision
CHANCE = {"text": 1 / 4, "image": 1 / 4, "group": 1 / 6}  # of random scores of two captions and two images

# What the rows of a file without ids are.
ORDERS = {"image": "images as its items first name them", "caption": "captions item by item"}

PathLike = str | os.PathLike[str]
Right = tuple[Any, Any]  # Bool: (item,) whether the choice is right, and whether it were if a tie was right
MEAN, ALL = "mean of categories", "all items"
BASELINE = "text only"
RULE = (
    "A choice is right if its score is higher than every other; a tie is wrong. Order-blind: the most that scores can "
    "reach that ignore the order of words."
)


@public
@read_once()
def choice(
    systems: Any,
    *,
    set: Any,
    baseline: PathLike | None = None,
    similarity: str = "auto",
    image_key: str | None = None,
    text_key: str | None = None,
    top: int = 30,
    ci: float = 95,
    resamples: int = 1000,
    seed: int = 0,
    threads: int | None = None,
) -> Result:
    """Measure how often systems choose the right caption of SugarCrepe, VALSE, ARO, Winoground or your set.

    A choice is right if the right caption scores higher than every other caption of the item; a tie is wrong. Items
    with two images have a text score (right for both images), an image score (right for both captions) and a group
    score (both). Intervals resample images, together with all items of an image.

    Args:
        systems: embeddings of the set, or scores of its captions by item; NAME=FILE names a system. One or several
            files, or a mapping from names to systems. A file of images followed by a file of texts is one system. A
            mapping also takes arrays of scores (item, caption) or (item, image, caption), and pairs of image and text
            vectors.
        set: ``sugarcrepe``, valse, aro or winoground in the cache, their folder or file, or your JSON file.
        baseline: scores of every caption without its image, or length: the shorter caption is right.
        similarity: similarity of vectors: auto, cosine or dot.
        image_key: name of the array of image vectors in files of embeddings.
        text_key: name of the array of caption vectors.
        top: number of categories in the table.
        ci: confidence level of the intervals in percent; 0 for none.
        resamples: number of bootstrap resamples.
        seed: random seed.
        threads: number of threads; never changes a result.

    Raises:
        UsageError: an unknown set, or two systems of one name.
        MissingPackage: the files of a published set are not here.
        BadInput: a damaged file, or items without vectors or scores.

    Example:
        >>> import vsebench as vb
        >>> items = [
        ...     {"image": "a.jpg", "captions": ["a dog on a cat", "a cat on a dog"]},
        ...     {"image": "b.jpg", "captions": ["two dogs", "two cats"]},
        ... ]
        >>> result = vb.choice({"mine": [[0.31, 0.24], [0.2, 0.2]]}, set=items, ci=0)
        >>> result.to_frame()[["category", "value", "ties", "order_blind"]].values.tolist()[-1]
        ['all items', 0.5, 1, 0.5]
    """
    if is_path(set):
        items = load(set)
    elif isinstance(set, Sequence):
        items = of_list(set)
    else:
        raise UsageError(
            f"set is {format_value(set)}", fix="give the name, folder or file of a set, or a list of items"
        )
    if baseline is not None and items.shape[1] > 1:
        what = f"'{items.name}' has two images per item: a baseline without images is never right for both"
        raise UsageError(what, fix=f"leave out {spell('baseline')}: its text, image and group scores are 0")
    taken = next((item.category for item in items.items if item.category in (MEAN, ALL)), None)
    if taken is not None:
        raise UsageError(f"'{items.name}' has a category '{taken}', a name that every table uses", fix="rename it")
    how = Resampling(ci, resamples, seed) if ci else None
    asked = request(similarity=similarity, image_key=image_key, text_key=text_key)
    scores: dict[str, Float] = {}
    kinds, notes, warnings = [], [*items.notes], [*items.warnings]
    for name, source in _sources(systems, items, bool(image_key or text_key)):
        if name == BASELINE:
            raise UsageError(f"'{name}' is the name of the baseline", fix="give the system another name")
        scores[name], kind, said = _scores(source, items, asked, threads)
        kinds.append(kind)
        notes += [f"{name}: {text}" for text in said]
    found = tuple(scores)
    if baseline is not None:
        scores[BASELINE], said = _baseline(baseline, items)
        notes += [f"{BASELINE}: {text}" for text in said]
    tables = _tables(items, scores, len(found), how, top, threads)
    for name in found:
        said = (*_ties(tables, name, scores[name]), *_at_chance(scores[name], items))
        warnings += [f"{name}: {text}" for text in said]
    signature = items.signature(",".join(dict.fromkeys(kinds)))
    every = records(tables)["shares"]
    chance = sorted({printed(share["chance"], "fraction") for share in every}, key=float)
    reading = (
        f"Shares are printed as percentages. {RULE} Chance: {' to '.join(dict.fromkeys((chance[0], chance[-1])))}."
    )
    reading += "" if how is None else f" {interval_words(how)}."
    return Result(
        kind="choices", title=f"Choices of {items.name}", main="shares", systems=found,
        tables=(*tables, sentences(reading, literal=signature)),
        settings={
            "name": items.name, "systems": list(found), "baseline": None if baseline is None else BASELINE,
            "signature": signature, "how": None if how is None else asdict(how),
        },
        notes=tuple(dict.fromkeys(notes)), warnings=tuple(warnings),
    )  # fmt: skip


def _sources(systems: Any, items: ChoiceSet, keys: bool) -> list[tuple[str, Any]]:
    """The name and the source of every system: a path, a pair of paths, or arrays."""
    listed = [systems] if is_path(systems) else systems
    if isinstance(listed, (list, tuple)) and all(map(is_path, listed)):
        pairs = group([named(str(x)) for x in listed], lambda path: keys or holds_scores(path, items))
        names = names_of([(name, path) for name, path, _ in pairs])
        found = [(n, p if q is None else (p, q)) for n, (_, p, q) in zip(names, pairs, strict=True)]
    else:
        found = [(str(name), x) for name, x in (systems.items() if isinstance(systems, Mapping) else [("A", systems)])]
    if not found:
        raise UsageError("no system is given", fix="give a file of embeddings or of scores")
    return found


def _scores(source: Any, items: ChoiceSet, asked: Request, threads: int | None) -> tuple[Float, str, tuple[str, ...]]:
    """(item, image, caption) float64 scores, what they are, and what was decided."""
    keys = asked.image_key or asked.text_key
    if is_path(source) and not keys and holds_scores(expanded(source), items):
        scores, notes = read_scores(expanded(source), items)
        return scores, "scores", notes
    if not isinstance(source, tuple) and not is_path(source):
        return check_scores(numbers(source, "scores"), items), "scores", order_of_pairs(items)
    images, texts = source if isinstance(source, tuple) else (source, None)
    asked = replace(asked, images=images, texts=texts)
    with logged() as log:
        found = of_vectors(only(raw_vectors(asked), items.split), asked, items.split)
    assert found.system is not None
    item, caption = np.nonzero(items.exists)[0], np.arange(items.exists.sum())
    rows = items.images[1].T  # (image, item)
    of = [found.system.forward.pairs(image[item], caption, threads or default_threads()) for image in rows]
    files = isinstance(source, tuple) and is_path(texts)  # arrays have the documented order
    unnamed = found.without_ids if is_path(source) or files else ()
    orders = (in_order("text" if side == "caption" else side, items.name, ORDERS[side]) for side in unnamed)
    return np.stack([items.of_captions(x) for x in of], axis=1), found.score, (*orders, *log.notes, *log.warnings)


def _baseline(given: PathLike, items: ChoiceSet) -> tuple[Float, tuple[str, ...]]:
    """(item, 1, caption) float64 scores without images, and what they are."""
    if str(given) == LENGTH:
        return _lengths(items), ("the shorter caption is right",)
    file = expanded(given)
    scores, notes = read_scores(file, items)
    return scores, (file.name, *notes)


def _lengths(items: ChoiceSet) -> Float:
    """(item, 1, caption) float64: minus the number of words of a caption."""
    return items.of_captions([-len(words(caption)) for item in items.items for caption in item.captions])[:, None]


def _own_and_others(scores: Float, items: ChoiceSet) -> tuple[Float, Float]:
    """(item, image, 1) the right scores, and (item, image, other) those that they have to exceed, NaN for none.

    Of two images the others are the other caption of the image, and the other image of the caption.
    """
    if items.shape[1] > 1:
        own, captions, images = scores[:, (0, 1), (0, 1)], scores[:, (0, 1), (1, 0)], scores[:, (1, 0), (0, 1)]
        return own[..., None], np.stack([captions, images], axis=-1)
    right = np.array([item.right for item in items.items])[:, None, None]
    others = np.where(np.arange(items.shape[2]) == right, np.nan, scores)
    return np.take_along_axis(scores, right, axis=2), others


def _right(scores: Float, items: ChoiceSet) -> dict[str, Right]:
    """What is right, by measure."""
    own, others = _own_and_others(scores, items)
    measures: dict[str, Any] = {"accuracy": slice(None)}
    if items.shape[1] > 1:
        measures = {"text": [0], "image": [1], "group": [0, 1]}
    most = {name: np.nanmax(others[..., at], axis=2, keepdims=True) for name, at in measures.items()}
    return {name: ((own > x).all(axis=(1, 2)), (own >= x).all(axis=(1, 2))) for name, x in most.items()}


def _tables(
    items: ChoiceSet, scores: Mapping[str, Float], systems: int, how: Resampling | None, top: int, threads: int | None
) -> list[Table]:
    """The shares of right choices, a table a part and measure; the first ``systems`` scores are of systems."""
    right = [_right(x, items) for x in scores.values()]
    parts = np.array([item.part for item in items.items])
    found: list[Table] = []
    for part in dict.fromkeys(parts.tolist()):
        rows = np.flatnonzero(parts == part)
        for measure in right[0]:
            own = {n: (r[measure][0][rows], r[measure][1][rows]) for n, r in zip(scores, right, strict=True)}
            found.append(_table(items, rows.tolist(), measure, own, systems, how, top, threads))
    return found


def _table(
    items: ChoiceSet, rows: Sequence[int], measure: str, right: Mapping[str, Right], systems: int,
    how: Resampling | None, top: int, threads: int | None,
) -> Table:  # fmt: skip
    """The shares of every category, their mean, and all items, and the differences, from the same resamples.

    Differences are to the first system; with one system, to the baseline. ``order_blind`` is the
    most that scores can reach that ignore the order of words, ``chance`` the share of random scores.
    """
    chosen = [items.items[i] for i in rows]
    part, category = chosen[0].part, np.array([item.category for item in chosen])
    image = np.unique([item.group for item in chosen], return_inverse=True)[1]
    masks = {name: category == name for name in dict.fromkeys(category.tolist())} | {ALL: np.ones(len(chosen), bool)}
    averaged = [name for name in masks if name != ALL and (part, name) not in items.outside]
    # Every share is a sum of columns, one a category and system: of one of them, or the mean of several.
    mean = {MEAN: dict.fromkeys(averaged, 1 / len(averaged))} if len(averaged) > 1 else {}
    parts = {name: {name: 1.0} for name in masks if name != ALL} | mean | {ALL: {ALL: 1.0}}
    columns = {
        (c, s): Column(r[m].astype(np.float64), image[m]) for c, m in masks.items() for s, (r, _) in right.items()
    }
    place = {key: i for i, key in enumerate(columns)}
    names = list(right)
    against, others = (names[0], names[1:systems]) if systems > 1 else (names[-1], names[:-1])
    signs = {name: {name: 1.0} for name in names} | {f"{n} − {against}": {n: 1.0, against: -1.0} for n in others}
    sums: list[Sum] = [
        {place[own, s]: w * sign for own, w in parts[c].items() for s, sign in signs[n].items()}
        for c in parts for n in signs
    ]  # fmt: skip
    ready = prepare(list(columns.values()), Population(int(image.max()) + 1), sums)
    settings = (0.0, 0, 0) if how is None else (how.level, how.resamples, how.seed)
    values = iter(plain_values(ready)[ready.size :].tolist())
    ends = iter(bootstrap.intervals(ready, *settings, threads)[ready.size :])
    chance = np.array([CHANCE.get(measure, 1 / len(item.captions)) for item in chosen])
    blind = np.array([item.order_blind for item in chosen])
    lines: list[tuple[Entry, ...]] = []
    for c, of in parts.items():
        inside, in_mean = np.any([masks[own] for own in of], axis=0), c in (MEAN, ALL, *averaged)
        varies = all(len(np.unique(image[masks[own]])) > 1 for own in of)  # one image has no interval
        by_chance, blindly = (sum(w * float(x[masks[own]].mean()) for own, w in of.items()) for x in (chance, blind))
        line: list[Entry] = [Text(c + " (not in the mean)" * (not in_mean), c), Value(int(inside.sum()), "count")]
        line.append(Value(blindly))
        for s in signs:
            known = s in right and c != MEAN
            ties = int((right[s][1] & ~right[s][0])[inside].sum()) if known else None
            facts = {"ties": ties, "images": len(np.unique(image[inside])), "averaged": in_mean, "chance": by_chance}
            value, pair = next(values), next(ends)
            ends_of = interval(pair) if varies else None
            line.append(Value(value, "fraction", ends_of, signed=s not in right, facts=facts))
        lines.append(tuple(line))
    tied = ", ".join(f"{s} {int((more & ~strictly).sum()):,}" for s, (strictly, more) in right.items())
    notes = [f"Ties: {tied} of {len(chosen):,} items."]
    if hidden := frozenset(range(top, len(parts) - len(mean) - 1)):
        counted = count_of(len(hidden), "category is", "categories are")
        notes.append(f"{counted} not shown ({spell('top')}).")
    title = " · ".join(filter(None, (items.name, part, "" if measure == "accuracy" else f"{measure} score")))
    headings = [table.Column("category", words=True), table.Column("items", "n")]
    headings += [table.Column("order-blind", "order_blind"), *(table.Column(s, fields={"system": s}) for s in signs)]
    fields = {"part": part, "measure": measure}
    return Table("shares", title, tuple(headings), tuple(lines), fields, hidden=hidden, notes=tuple(notes))


def _ties(tables: Sequence[Table], name: str, scores: Float) -> list[str]:
    """A warning where a system has many ties."""
    every = [row for row in records(tables)["shares"] if (row["category"], row["system"]) == (ALL, name)]
    ties, n = max((row["ties"], row["n"]) for row in every)
    if ties < MIN_TIE_SHARE * n:
        return []
    digits = np.frexp(scores[~np.isnan(scores)])[0] * 2.0**HALF_PRECISION_BITS
    few = "; the scores have half precision, which makes ties frequent" * bool((digits % 1 == 0).all())
    return [f"{ties:,} of {n:,} choices are ties, which count as wrong{few}"]


def _at_chance(scores: Float, items: ChoiceSet) -> list[str]:
    """A warning where right captions are not above wrong ones more often than random scores put them.

    Every comparison of the right score with another is right with probability 1/2, and half right in a tie. Items
    of one image are not independent, so the test takes their mean as one value.
    """
    group, of = np.unique([item.group for item in items.items], return_inverse=True)
    if len(group) < MIN_IMAGES:
        return []
    won = _comparisons(scores, items)
    mean = np.bincount(of, won) / np.bincount(of)
    above, below = reversed(of_mean(mean - 0.5))
    if above < CHANCE_P_VALUE:
        return []
    at = "below chance" if below < MAX_P_BELOW else "no better than chance"
    likely = "distances (negate them), or " if below < MAX_P_BELOW else ""
    return [
        f"{at}: the right caption scores higher in {won.mean():.1%} of comparisons (chance: 50 %); "
        f"these may be {likely}scores in a different order than the set (give ids)"
    ]


def _comparisons(scores: Float, items: ChoiceSet) -> Float:
    """(item,) float64: the fraction of the other scores of an item that the right one is above; a tie is half."""
    own, others = _own_and_others(scores, items)
    above: Float = np.where(np.isnan(others), np.nan, (own > others) + (own == others) / 2)
    return np.asarray(np.nanmean(above, axis=(1, 2)))
