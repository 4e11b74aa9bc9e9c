"""Tasks of training steps with every loss, as multiples of those with MH, and naive forms; torch has one thread.

The naive forms are the formulas of the losses at their defaults: loops over anchors, levels and windows, or a tensor
of all triples (b, b, b). They share no code with the library.
"""

from __future__ import annotations

import itertools
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


def ladder(scores: T, degree: T) -> T:
    """Two levels with hard contrastive sampling: one anchor at a time."""
    total = scores.new_zeros(())
    for s, r in ((scores, degree), (scores.T, degree.T)):
        for a in range(len(s)):
            others = torch.arange(len(s)) != a
            total = total + (MARGIN - s[a, a] + s[a][others].max()).clamp(min=0)
            upper, lower = s[a][others & (r[a] >= LEVEL)], s[a][others & (r[a] < LEVEL)]
            if len(upper) and len(lower):
                total = total + BETA * (LEVEL_MARGIN - upper.min() + lower.max()).clamp(min=0)
    return total


def kendall(scores: T, degree: T) -> T:
    """Every two candidates of every anchor at once: (b, b, b)."""
    total = scores.new_zeros(())
    for s, r in ((scores, degree), (scores.T, degree.T)):
        ordered = r[:, :, None] > r[:, None, :]
        total = total + ((s[:, None, :] - s[:, :, None]).clamp(min=0) * ordered).sum()
    return total


def kendall_loop(scores: T, degree: T) -> T:
    """The same one anchor at a time: (b, b)."""
    total = scores.new_zeros(())
    for s, r in ((scores, degree), (scores.T, degree.T)):
        for a in range(len(s)):
            ordered = r[a][:, None] > r[a][None, :]
            total = total + (s[a][None, :] - s[a][:, None]).clamp(min=0)[ordered].sum()
    return total


def kendall_sw_hs(scores: T, degree: T) -> T:
    """One anchor and one window at a time."""
    total = scores.new_zeros(())
    for s, r in ((scores, degree), (scores.T, degree.T)):
        for a in range(len(s)):
            others = torch.arange(len(s)) != a
            for m in range(1, WINDOWS + 1):
                low = -1 + STEP * m
                upper, lower = s[a][r[a] >= low + WIDTH - EPS], s[a][others & (r[a] < low)]
                if len(upper) and len(lower):
                    total = total + (lower.max() - upper.min()).clamp(min=0) / WINDOWS
    return total


def log_ratio(scores: T, degree: T) -> T:
    """Every two candidates of every anchor at once: (b, b, b); those with equal labels are left out."""
    total = scores.new_zeros(())
    for s, r in ((scores, degree), (scores.T, degree.T)):
        u = ((2 - 2 * s).clamp(min=1e-12).sqrt() + EPS).log() - ((1 - r).clamp(min=0) + EPS).log()
        different = r[:, :, None] != r[:, None, :]
        squares = (u[:, :, None] - u[:, None, :]).square() * different
        total = total + (squares.sum(dim=(1, 2)) / different.sum(dim=(1, 2)).clamp(min=1)).sum()
    return total


FORMS = {
    "ladder": (ladder, "loop over anchors and levels"),
    "kendall": (kendall, "all triples (b, b, b)"),
    "kendall by anchors": (kendall_loop, "loop over anchors"),
    "kendall_sw_hs": (kendall_sw_hs, "loop over anchors and windows"),
    "log_ratio": (log_ratio, "all triples (b, b, b)"),
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
    entry, naive = get_loss(loss), FORMS[form][0] if form else None

    def value(scores: Any) -> Any:
        if naive is not None:
            return naive(scores, degree)
        return entry.function(scores, positive, **({"degree": degree} if entry.needs_degree else {}))

    def work() -> Outcome:
        found = value(normalize(images, dim=1) @ normalize(captions, dim=1).T)
        gradients = torch.autograd.grad(found, (images, captions))
        if not given.quick:
            return Outcome()  # sums of float32
        values = found, *(g.ravel() for g in gradients)
        return Outcome(dict(zip(("value", "images", "captions"), (v.detach().numpy() for v in values), strict=True)))

    return work


def complete(given: Inputs, loss: str, relevance: str, b: int) -> Work:
    """Steps of the trainer: batches from the loader and its thread, encoders, loss, Adam."""
    from train_reference import train

    run, count = _prepared(given, loss, relevance, b)
    batches = itertools.chain.from_iterable(map(run.loader, itertools.count()))

    def work() -> None:
        for one in itertools.islice(batches, count):
            train.step(run, one, 0)

    return work


def making(given: Inputs, loss: str, relevance: str, b: int) -> Work:
    """Making the batches of the same steps, as in the thread of the loader."""
    run, count = _prepared(given, loss, relevance, b)
    rows = list(itertools.islice(run.loader.order(0), count))
    return lambda: [run.loader.make(captions) for captions in rows]


def _prepared(given: Inputs, loss: str, relevance: str, b: int) -> tuple[Any, int]:
    from train_reference import config, train
    from train_reference.data import no_bar

    scenes, b = ("scenes-tiny", QUICK[0]) if given.quick else ("scenes-10k", b)
    wanted = {"name": loss, "relevance": relevance, "own_degree": "one"}
    options = {"data": {"name": scenes}, "loss": wanted, "train": {"threads": 1, "batch": b}}
    return train.prepare(config.from_dict(options), no_bar), 2 if given.quick else max(2, PAIRS // b)


def of_size(b: int) -> list[Task]:
    """The tasks of one size of the batch."""
    floor, whole = partial(step, loss="mh", b=b), partial(complete, loss="mh", relevance="cider", b=b)
    largest = ["<= 200 MiB"] if b == max(SIZES) else []
    out = [Task(f"losses/mh, {b}", "", floor, floor=floor, unit="MH")]
    for name in loss_names():
        if name != "mh":
            goal = ", ".join([*([GOALS[name]] if name in GOALS else []), *largest])
            out.append(Task(f"losses/{name}, {b}", "", partial(step, loss=name, b=b), goal, floor, "MH"))
    for name, degrees in COMPLETE.items():
        of, words = {"loss": name, "relevance": degrees, "b": b}, "made in the thread of the loader"
        steps, batches = partial(complete, **of), partial(making, **of)
        out.append(Task(f"losses/{name}: complete, {b}", f"degrees of {degrees}", steps, "<= 1.3 CPU MH", whole, "MH"))
        out.append(Task(f"losses/{name}: batches, {b}", words, batches, "", whole, "MH"))
    for form, (_, words) in FORMS.items() if b != max(SIZES) else ():
        make, of = partial(step, loss=form.split()[0], b=b, form=form), f"losses/{form.split()[0]}, {b}"
        out.append(Task(f"losses/naive {form}, {b}", words, make, "", floor, "MH", of=of, tolerance=1e-9))
    return out


TASKS = tuple(task for b in SIZES for task in of_size(b))
