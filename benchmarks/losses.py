"""Tasks of training steps with every loss, as multiples of those with MH, and naive forms; torch has one thread.

The naive forms are the formulas of the losses at their defaults: loops over anchors, levels and windows, or a tensor
of all triples (b, b, b). They share no code with the library.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any

import torch
from torch.nn.functional import normalize

from train_reference.losses import get_loss, loss_names

from .inputs import Inputs
from .run import Outcome, Task, Work

MARGIN, LEVEL_MARGIN, LEVEL, BETA = 0.2, 0.01, 0.63, 0.25  # of the ladder
WIDTH, STEP, WINDOWS = 0.2, 0.1, 18  # of the sliding window
EPS = 1e-6
T = torch.Tensor


def of_directions(terms: Callable[[T, T], T]) -> Callable[[T, T], T]:
    """A form: the sum of both directions, from (b, b) scores and degrees."""
    return lambda scores, degree: terms(scores, degree) + terms(scores.T, degree.T)


def of_anchors(terms: Callable[[T, T, T], Iterable[T]]) -> Callable[[T, T], T]:
    """A form: the sum of the terms of one anchor at a time, from (b,) scores, degrees, and whether it is another."""

    def form(scores: T, degree: T) -> T:
        total = scores.new_zeros(())
        for s, r in ((scores, degree), (scores.T, degree.T)):
            for a in range(len(s)):
                for term in terms(s[a], r[a], torch.arange(len(s)) != a):
                    total = total + term
        return total

    return form


def gap(upper: T, lower: T, margin: float) -> T:
    """The hinge of the lowest score above a level and the highest below; 0 if one side is empty."""
    if not len(upper) or not len(lower):
        return upper.new_zeros(())
    return (margin - upper.min() + lower.max()).clamp(min=0)


def ladder(s: T, r: T, other: T) -> Iterable[T]:
    """Two levels with hard contrastive sampling."""
    yield (MARGIN - s[~other][0] + s[other].max()).clamp(min=0)
    yield BETA * gap(s[other & (r >= LEVEL)], s[other & (r < LEVEL)], LEVEL_MARGIN)


def kendall_by_anchors(s: T, r: T, other: T) -> Iterable[T]:
    """All pairs of candidates of one anchor: (b, b)."""
    yield (s[None, :] - s[:, None]).clamp(min=0)[r[:, None] > r[None, :]].sum()


def kendall_sw_hs(s: T, r: T, other: T) -> Iterable[T]:
    """One window at a time."""
    for low in (-1 + STEP * m for m in range(1, WINDOWS + 1)):
        yield gap(s[r >= low + WIDTH - EPS], s[other & (r < low)], 0.0) / WINDOWS


def kendall(s: T, r: T) -> T:
    """All pairs of candidates of every anchor: (b, b, b)."""
    return ((s[:, None, :] - s[:, :, None]).clamp(min=0) * (r[:, :, None] > r[:, None, :])).sum()


def log_ratio(s: T, r: T) -> T:
    """All pairs of candidates of every anchor, without those of equal labels: (b, b, b)."""
    u = ((2 - 2 * s).clamp(min=1e-12).sqrt() + EPS).log() - ((1 - r).clamp(min=0) + EPS).log()
    different = r[:, :, None] != r[:, None, :]
    squares = (u[:, :, None] - u[:, None, :]).square() * different
    return (squares.sum(dim=(1, 2)) / different.sum(dim=(1, 2)).clamp(min=1)).sum()


FORMS = {
    "ladder": (of_anchors(ladder), "loop over anchors and levels"),
    "kendall": (of_directions(kendall), "all triples (b, b, b)"),
    "kendall by anchors": (of_anchors(kendall_by_anchors), "loop over anchors"),
    "kendall_sw_hs": (of_anchors(kendall_sw_hs), "loop over anchors and windows"),
    "log_ratio": (of_directions(log_ratio), "all triples (b, b, b)"),
}

DIM = 1024
SIZES = (128, 512)
QUICK = (24, 32)  # batch and dimension
GOALS = {"ladder": "<= 1.2 CPU MH", "kendall_sw_hs": "<= 1.5 CPU MH", "log_ratio": "<= 1.2 CPU MH"}
COMPLETE = {"sam": "cider", "ladder": "match", "kendall_sw_hs": "match", "log_ratio": "match"}
PAIRS = 1280  # of the complete steps that are timed together


@cache
def batch(b: int, dim: int, double: bool) -> tuple[Any, Any, Any, Any]:
    """Vectors (b, dim) of images and of captions, positives and degrees (b, b): 2-5 % of the degrees are tied."""
    torch.set_num_threads(1)
    rng, dtype = torch.Generator().manual_seed(0), torch.float64 if double else torch.float32
    images = torch.randn(b, dim, generator=rng, dtype=dtype)
    captions = images + 12 * torch.randn(b, dim, generator=rng, dtype=dtype)
    points = torch.nn.functional.normalize(torch.randn(b, 16, generator=rng, dtype=dtype), dim=1)
    degree = ((points @ points.T).clamp(-1, 1) * 1000).round() / 1000
    degree.fill_diagonal_(1.0)
    return images.requires_grad_(), captions.requires_grad_(), torch.eye(b, dtype=torch.bool), degree


def step(given: Inputs, loss: str, b: int, form: str | None = None) -> Work:
    """The value and the gradients of both vectors: normalise, product, loss (or a naive form of it), and back."""
    images, captions, positive, degree = batch(*(QUICK if given.quick else (b, DIM)), given.quick)
    entry = get_loss(loss)
    function = partial(entry.function, **({"degree": degree} if entry.needs_degree else {}))

    def work() -> Outcome:
        scores = normalize(images, dim=1) @ normalize(captions, dim=1).T
        value = FORMS[form][0](scores, degree) if form else function(scores, positive)
        gradients = torch.autograd.grad(value, (images, captions))
        if not given.quick:
            return Outcome()  # sums of float32
        found = {"value": value.detach(), "images": gradients[0].ravel(), "captions": gradients[1].ravel()}
        return Outcome({name: tensor.numpy() for name, tensor in found.items()})

    return work


def complete(given: Inputs, loss: str, relevance: str, b: int, batches_only: bool = False) -> Work:
    """Steps of the trainer: batches from the loader and its thread, encoders, loss, Adam; or the same batches alone."""
    from train_reference import config, train

    scenes, b = ("scenes-tiny", QUICK[0]) if given.quick else ("scenes-10k", b)
    wanted = {"name": loss, "relevance": relevance, "own_degree": "one"}
    options = {"data": {"name": scenes}, "loss": wanted, "train": {"threads": 1, "batch": b}}
    run, count = train.prepare(config.from_dict(options)), 2 if given.quick else max(2, PAIRS // b)
    if batches_only:
        rows = list(itertools.islice(run.loader.order(0), count))
        return lambda: [run.loader.make(captions) for captions in rows]
    batches = itertools.chain.from_iterable(map(run.loader, itertools.count()))
    return lambda: [train.step(run, one, 0) for one in itertools.islice(batches, count)]


def of_size(b: int) -> list[Task]:
    """The tasks of one size of the batch; times are multiples of those with MH."""
    mh, whole = partial(step, loss="mh", b=b), partial(complete, loss="mh", relevance="cider", b=b)
    memory = "<= 200 MiB" if b == max(SIZES) else ""
    out = [Task(f"losses/mh, {b}", "", mh, floor=mh, unit="MH")]
    for name in loss_names():
        if name != "mh":
            goal = ", ".join(filter(None, (GOALS.get(name), memory)))
            out.append(Task(f"losses/{name}, {b}", "", partial(step, loss=name, b=b), goal, mh, "MH"))
    for name, degrees in COMPLETE.items():
        steps, words = partial(complete, loss=name, relevance=degrees, b=b), "made in the thread of the loader"
        batches = partial(steps, batches_only=True)
        out.append(Task(f"losses/{name}: complete, {b}", f"degrees of {degrees}", steps, "<= 1.3 CPU MH", whole, "MH"))
        out.append(Task(f"losses/{name}: batches, {b}", words, batches, "", whole, "MH"))
    for form, (_, words) in FORMS.items() if b != max(SIZES) else ():
        loss = form.split()[0]
        make, of = partial(step, loss=loss, b=b, form=form), f"losses/{loss}, {b}"
        out.append(Task(f"losses/naive {form}, {b}", words, make, "", mh, "MH", of=of, tolerance=1e-9))
    return out


TASKS = tuple(task for b in SIZES for task in of_size(b))
