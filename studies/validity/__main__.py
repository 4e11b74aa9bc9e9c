"""The validity study: which retrieval metric recovers the true order of systems?

python -m studies.validity                 all of it, into the repository; then run python -m docs.generate
python -m studies.validity --figures       only the figures, from the stored numbers
python -m studies.validity --quick         a tiny world and few systems, into build/study, to see that it works

On scenes, where the truth of every pair is known, systems of graded quality are made from an oracle embedding and
ranked by every metric: systems -> measure -> findings -> leaderboards/studies/metric_validity.json -> figures and the
table of the page. The sentences of the page are written by hand: read them again when the numbers change.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

import vsebench
from studies.validity import figures, findings
from studies.validity import systems as made
from studies.validity.measure import DRAWS, FIRST, GAINS, SMALL, Measured, measure
from studies.validity.systems import LEVELS, Oracle, System, World
from vsebench.files.atomic import write_atomically
from vsebench.scenes.settings import GENERATOR_VERSION
from vsebench.types import DIRECTIONS

ROOT = Path(__file__).resolve().parents[2]
NUMBERS, PAGES = Path("leaderboards/studies/metric_validity.json"), Path("docs/studies")
SCHEMA = "vsebench/study/metric-validity/1"
Record = dict[str, Any]


@dataclass(frozen=True)
class Size:
    """How much is computed."""

    split: str  # of scenes
    seeds: int  # systems of every level of a family
    mixed: int  # systems with several corruptions
    levels: int  # of a family, with the base
    resamples: int  # bootstrap samples
    dimensions: tuple[int, ...]  # of the oracle embeddings that are compared with ``match``


FULL = Size("scenes-10k-test", 3, 60, 7, 1000, (32, 64, 128, 256, 512, 1000))
QUICK = Size("scenes-tiny-test", 1, 3, 3, 50, (16, 32))


def study(size: Size, said: Callable[[str], None]) -> Record:
    """Run the study and return its numbers; ``said`` gets lines of progress."""
    world = made.open_world(size.split)
    oracle = Oracle(world)
    systems = [s for seed in range(size.seeds) for s in made.family_systems(seed, size.levels)]
    systems += made.mixed_systems(size.mixed)
    pool = made.pool_systems()
    positive, true = made.pooled(oracle, pool), world.entails
    judgements = {"judged": made.judged(world.split), "pooled": positive}
    measured = measure(systems, oracle, judgements, size.resamples, said)
    said("findings")
    packages = {name: version(name) for name in ("numpy", "scipy", "numba")}
    return {
        "schema": SCHEMA, "signature": measured.signature,
        "versions": {"vsebench": vsebench.__version__, "python": platform.python_version(), **packages},
        "settings": _settings(size, pool), "world": _world(world),
        "oracle": [_oracle(world, d) for d in size.dimensions],
        "match as scores": _exact(world),
        "match of true pairs": {d: _of_true_pairs(world, d) for d in DIRECTIONS},
        "pool": {
            d: {"mean": float(p.sum() / p.shape[d == "t2i"]), "share": float((p & true).sum() / true.sum())}
            for d, p in positive.items()
        },
        "systems": _systems(measured),
        "order": findings.recovered(measured),
        "images needed": findings.sizes_needed(measured),
        "quality": findings.agreement_with_quality(measured),
        "false negatives": _false_negatives(measured),
    }  # fmt: skip


def text(record: Any, indent: int = 0) -> str:
    """JSON with an entry a line, except in objects and lists that hold no other object."""
    flat, pad = json.dumps(record, allow_nan=False), "\n" + " " * indent
    if isinstance(record, dict) and "{" in flat[1:]:
        rows = [f"{json.dumps(key)}: {text(value, indent + 1)}" for key, value in record.items()]
    elif isinstance(record, list) and "{" in flat:
        rows = [text(value, indent + 1) for value in record]
    else:
        return flat
    return f"{flat[0]}{pad} " + f",{pad} ".join(rows) + f"{pad}{flat[-1]}"


def rounded(value: Any) -> Any:
    """Floats with four significant digits; None for what is not a number."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.4g}") if math.isfinite(value) else None
    return value


def _settings(size: Size, pool: list[System]) -> Record:
    return {
        "split": size.split, "generator": GENERATOR_VERSION, "seeds": list(range(size.seeds)),
        "mixed systems": size.mixed,
        "levels": {family: list(strengths[: size.levels]) for family, strengths in LEVELS.items()},
        "removable": list(made.REMOVABLE), "base noise": made.BASE_NOISE, "dimensions": made.DIMENSIONS,
        "cue dimensions": made.CUE, "cue weight": made.CUE_WEIGHT, "gains": list(GAINS),
        "resamples": size.resamples, "resample seed": 0, "small test set": SMALL, "small test sets": DRAWS,
        "first results": FIRST, "judged by": findings.JUDGED_BY, "equal quality": findings.EQUAL,
        "pool": [s.corruption.as_json() for s in pool], "pool depth": made.POOL_DEPTH,
    }  # fmt: skip


def _world(world: World) -> Record:
    true, own = world.entails, (world.split.image_of, np.arange(world.entails.shape[1]))
    others = true.copy()
    others[own] = False
    counts = (("true captions of an image", true.sum(axis=1)), ("true images of a caption", true.sum(axis=0)))
    return {
        "images": true.shape[0], "captions": true.shape[1],
        **{name: {"mean": float(n.mean()), "median": float(np.median(n))} for name, n in counts},
        "captions true of their image": float(true[own].mean()),
        "captions true of another image": float(others.any(axis=0).mean()),
    }  # fmt: skip


def _oracle(world: World, dimensions: int) -> Record:
    """How nearly an embedding of so many dimensions orders candidates as ``match`` does."""
    images, captions = made.decomposed(world.match, dimensions)
    tiny = np.random.default_rng(0)  # captions that state nothing have a vector of zeros, which is no embedding
    captions = captions + 1e-9 * tiny.standard_normal(captions.shape)
    names = ["match:Kendall[tau=b]", "match:NCS@10"]
    report = vsebench.evaluate(
        images, captions, split=world.split, metrics=names, gains="match", similarity="dot", trust=True, ci=0
    )
    found = {name: [report[name, d].value for d in DIRECTIONS] for name in names}
    return {"dimensions": dimensions, "tau": found[names[0]], "NCS@10": found[names[1]]}


def _exact(world: World) -> Record:
    """The metrics of a system whose scores are ``match`` itself, ties resolved at random."""
    names = ["R@1", "R@5", "R@10", "RSum", "entails:R@1", "entails:mAP@R"]
    report = vsebench.evaluate(
        scores=world.match.astype(np.float32), split=world.split, metrics=names, ties="expected", trust=True, ci=0
    )
    return {f"{r.metric} {r.direction or 'both'}": r.value for r in report.results}


def _of_true_pairs(world: World, direction: str) -> float:
    """How often a true candidate has a larger ``match`` than one that is not (the area under the ROC curve).

    The mean over the queries that have both; ties count half.
    """
    match, true = (x if direction == "i2t" else x.T for x in (world.match, world.entails))
    count = true.sum(axis=1)
    both = (count > 0) & (count < true.shape[1])
    match, true, count = match[both], true[both], count[both]
    above = np.where(true, rankdata(match, axis=1), 0).sum(axis=1) - count * (count + 1) / 2
    return float((above / (count * (true.shape[1] - count))).mean())


def _systems(measured: Measured) -> Record:
    """Every system, with its values by metric and direction; ranks are ranks."""
    lower = np.array([-1.0 if metric.endswith(("MedR", "MeanR")) else 1.0 for metric, _ in measured.keys])
    rows = [
        {"name": s.name, "family": s.family, "level": s.level, "seed": s.seed, "corruption": s.corruption.as_json(),
         "values": (measured.values[n] * lower).tolist(), "quality": [float(q[n]) for q in measured.quality.values()],
         "wrong": measured.wrong[n].tolist(), "wrong but true": measured.wrong_but_true[n].tolist()}
        for n, s in enumerate(measured.systems)
    ]  # fmt: skip
    return {"metrics": list(map(" ".join, measured.keys)), "quality": list(measured.quality), "systems": rows}


def _false_negatives(measured: Measured) -> Record:
    """R@1 of the ground truth against complete and pooled judgements."""
    recall, true, every, pooled = "R@1", "entails:R@1", "entails:mAP@R", "pooled:mAP@R"
    gains = [f"{name}:NCS@10" for name in GAINS]
    pairs = [(recall, true), (recall, every), *((m, g) for m in (recall, every) for g in gains[:2]), (pooled, every)]
    agreed = {f"{a} and {b}": findings.agreement_of(measured, a, b) for a, b in pairs}
    equal = findings.of_equal_quality(measured, [recall, true, every, pooled, *gains])
    return {"agreement": agreed, "equal quality": equal}


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the numbers and the figures below a folder, by default the repository."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tiny world and few systems")
    parser.add_argument("--figures", action="store_true", help="only the figures")
    parser.add_argument("--out", type=Path, help="folder; by default the repository, with --quick build/study")
    given = parser.parse_args(arguments)
    out = given.out or (ROOT / "build" / "study" if given.quick else ROOT)
    started = time.perf_counter()

    def said(words: str) -> None:
        print(f"{time.perf_counter() - started:6.0f} s  {words}", file=sys.stderr, flush=True)

    for folder in (NUMBERS.parent, PAGES):
        (out / folder).mkdir(parents=True, exist_ok=True)
    if not given.figures:
        record = study(QUICK if given.quick else FULL, said)
        with write_atomically(out / NUMBERS, "w") as stream:
            stream.write(text(rounded(record)) + "\n")
    figures.write(json.loads((out / NUMBERS).read_text(encoding="utf-8")), out / PAGES)
    said(f"written: {out / NUMBERS}, and figures in {out / PAGES}")


if __name__ == "__main__":
    main()
