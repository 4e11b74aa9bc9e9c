"""Suites: lists of training runs, which are tables in ``studies/runs``; this trains them and sums them up.

    python -m studies.suites smoke --jobs 2 --out build/suite-smoke

``smoke`` shows in minutes that every loss learns; ``small`` has the runs of which ``studies.claims`` states whether the
main claims of the papers hold, and ``ablations`` those for tables of their settings.

The folder of a suite has a folder a run. A run is finished when ``result.json`` is there, the report of its test part
with the values of every query; the same command goes on where it was stopped. A run that diverges leaves the message in
``diverged.txt``, and the next one begins; it is tried again by the same command. At the end ``suite.json`` is made.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import re
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd
import torch

import vsebench as vb
from train_reference.checkpoint import BEST, check_same
from train_reference.config import NONE, Config, assign, configured, fingerprinted, from_dict, override, read_toml
from train_reference.losses import get_loss, loss_names
from train_reference.own_file import published
from train_reference.sources import open_data
from train_reference.train import LOG, best_epoch, silent, train
from vsebench.errors import DISK, BadInput, Diverged, UsageError, VsebenchError
from vsebench.files.atomic import write_atomically
from vsebench.types import DIRECTIONS, Float

TABLES = Path(__file__).parent / "runs"
PACKAGES = ("vsebench", "torch", "numpy", "scipy", "numba")
RESULT, SUMMARY, DIVERGED = "result.json", "suite.json", "diverged.txt"
UNTRAINED = "untrained"
EVERY = "*"  # a row that stands for one of every loss
HEADLINE = ("R@1", "RSum", "match:NCS@10", "entails:mAP@R", "labels:nDCG@10")  # of the table that is printed


@dataclass(frozen=True)
class Planned:
    """One run of a suite."""

    variant: str  # without the seed: mh, sam-3%, log_ratio-dim16, untrained
    config: Config  # with the seed
    metrics: str  # of the evaluation

    @property
    def name(self) -> str:
        """Also its folder, below that of the suite."""
        return f"{self.config.data.name}/{self.variant.replace('%', 'pc')}-seed{self.config.train.seed}"


@dataclass(frozen=True)
class Suite:
    """A list of runs, those of a seed before those of the next. With ``must_learn`` every loss must learn."""

    name: str
    runs: tuple[Planned, ...]
    must_learn: bool = False


def label(loss: str) -> str:
    """The name of a loss as part of the name of a folder."""
    return published(loss).replace(".py:", "-")


def get_suite(name: str, losses: Sequence[str] | None = None) -> Suite:
    """The suite of a table in ``studies/runs``; with ``losses`` (also ``my_loss.py:function``) only their runs.

    Raises:
        UsageError: an unknown suite or loss, two losses of one name, or none that the suite has.
    """
    known = sorted(path.stem for path in TABLES.glob("*.toml"))
    if name not in known:
        raise UsageError(f"there is no suite '{name}'", fix=f"name one of {', '.join(known)}")
    table = read_toml(TABLES / f"{name}.toml")
    every = loss_names() if losses is None else list(dict.fromkeys(get_loss(loss).name for loss in losses))
    names = list(map(label, every))
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"two losses have the name {twice[0]}", fix="rename one of their files or functions")
    rows: dict[str, list[str]] = {}
    for variant, row in table["runs"].items():
        rows |= {label(loss): [loss, *row.split()] for loss in every} if variant == EVERY else {variant: row.split()}
    chosen: dict[str, Config] = {}
    for variant, (recipe, *settings) in rows.items():
        loss, _, parts = recipe.partition(",")
        found = configured(loss, f"scenes/{recipe}" if parts else None, changes={"data.name": table["data"]})
        if variant == UNTRAINED or found.loss.name in every:
            chosen[variant] = fingerprinted(assign(found, [*table["settings"].split(), *settings]))
    if not any(config.loss.name in every for config in chosen.values()):
        raise UsageError(f"suite '{name}' has no run of {', '.join(every)}", fix="name a loss of the suite, or 'small'")
    planned = [
        Planned(variant, override(config, {"train.seed": seed}),
                table["metrics_of_images" if config.model.text == NONE else "metrics"])
        for seed in table["seeds"] for variant, config in chosen.items()
    ]  # fmt: skip
    return Suite(name, tuple(planned), table.get("must_learn", False))


def run_suite(suite: Suite, out: Path, jobs: int = 1) -> dict[str, Any]:
    """Train what is not finished of a suite, ``jobs`` runs at a time, and return the summary.

    Raises:
        UsageError: the folder has runs of other settings.
        BadInput, MissingPackage, DiskError: as ``train_reference.train.train``.
    """
    out.mkdir(parents=True, exist_ok=True)
    waiting = []
    for plan in suite.runs:
        if not (out / plan.name / RESULT).is_file():
            waiting.append(plan)
            continue
        try:
            stored = from_dict(json.loads((out / plan.name / "run.json").read_text(encoding="utf-8"))["config"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BadInput("run.json is damaged", where=out / plan.name, fix="delete the folder of this run") from error
        check_same(stored, plan.config, out / plan.name)
    (out / SUMMARY).unlink(missing_ok=True)
    for plan in {plan.config.data: plan for plan in waiting}.values():
        open_data(plan.config)  # data that are generated are made once, before processes wait for each other
    print(f"{len(suite.runs) - len(waiting)} runs were finished before", file=sys.stderr)
    tasks, started = [(plan, out) for plan in waiting], time.monotonic()
    with ExitStack() as stack:  # an error ends the processes
        pool = stack.enter_context(multiprocessing.get_context("spawn").Pool(jobs)) if jobs > 1 else None
        done = map(_train, tasks) if pool is None else pool.imap_unordered(_train, tasks)
        for number, said in enumerate(done, start=1):
            left = (time.monotonic() - started) / number * (len(tasks) - number)
            print(f"{number} of {len(tasks)}, {said}, about {left / 60:.0f} min left", file=sys.stderr)
    found = summary(suite, out)
    write_summary(found, out)
    return found


def write_summary(found: Mapping[str, Any], out: Path) -> None:
    """Write ``suite.json``; while it is not there, the suite is not complete."""
    with write_atomically(out / SUMMARY, "w") as stream:
        stream.write(json.dumps(found, indent=1) + "\n")


def _train(task: tuple[Planned, Path]) -> str:
    """Train one run, or resume it; returns a line of progress."""
    plan, out = task
    folder, started = out / plan.name, time.monotonic()
    (folder / DIVERGED).unlink(missing_ok=True)
    try:
        train(plan.config, folder, resume=(folder / BEST).exists(), metrics=plan.metrics, say=silent)
    except Diverged as error:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / DIVERGED).write_text(error.what, encoding="utf-8")
        return f"{plan.name}: diverged: {error.what}"
    return f"{plan.name}: {time.monotonic() - started:.0f} s"


def summary(suite: Suite, out: Path) -> dict[str, Any]:
    """The content of ``suite.json``, from the folders of the runs, which are finished or diverged."""
    runs, diverged, started = dict[str, Any](), dict[str, Any](), list[str]()
    for plan in suite.runs:
        folder, config = out / plan.name, plan.config
        facts = {"data": config.data.name, "variant": plan.variant, "loss": published(config.loss.name),
                 "seed": config.train.seed}  # fmt: skip
        if not (folder / RESULT).is_file():
            diverged[plan.name] = {**facts, "message": (folder / DIVERGED).read_text(encoding="utf-8")}
            continue
        report = vb.load(folder / RESULT)
        started.append(str(report.provenance.get("started", "")))
        log = list(map(json.loads, text_of(folder / LOG).splitlines()))
        settings = config.to_dict()
        settings["loss"]["name"] = facts["loss"]
        runs[plan.name] = facts | {
            "seconds": round(sum(line.get("seconds", 0.0) for line in log), 1),
            "epochs": len(log), "best_epoch": best_epoch(config, log), "degree": gains_of(config),
            "values": {key: round(value, 6) for key, value in means(report).items()},
            "results": results_of(report), "signature": report.signature, "config": settings,
        }  # fmt: skip
    names = re.findall(r"^model name.*?:(.*)$", text_of(Path("/proc/cpuinfo")), re.MULTILINE)
    processor = names[0].strip() if names else platform.processor() or platform.machine()
    machine = {"platform": f"{platform.system()} {platform.machine()}", "cores": os.cpu_count(),
               "processor": f"{processor}, {torch.backends.cpu.get_cpu_capability()}"}  # fmt: skip
    return {
        "schema": "vsebench/suite/1", "suite": suite.name, "started": min(started, default=""),
        "seeds": sorted({p.config.train.seed for p in suite.runs}),
        "versions": {name: version(name).partition("+")[0] for name in PACKAGES},
        "machine": machine, "python": platform.python_version(),
        "seconds": round(sum(run["seconds"] for run in runs.values()), 1), "runs": runs, "diverged": diverged,
        **({"learned": learned(runs)} if suite.must_learn else {}),
    }  # fmt: skip


def text_of(file: Path) -> str:
    """The text of a file, "" if it is not there."""
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""


def gains_of(config: Config) -> str:
    """The gains from which the loss of a run takes the degree of relevance of a pair, "" where it takes none."""
    kind = config.loss.relevance.partition(":")[0]
    return kind if kind == "labels" or get_loss(config.loss.name).needs_degree else ""


def means(report: vb.Report) -> dict[str, float]:
    """Every metric of a report; of a metric with two directions their mean."""
    values = pd.DataFrame([{"metric": str(r.metric), "value": float(r.value)} for r in report.results])
    found: dict[str, float] = values.groupby("metric", sort=False)["value"].agg(fmean).to_dict()
    return found


def per_image(report: vb.Report, metric: str, direction: str | None) -> Float:
    """(image,) float64 numbers whose mean is the value of a metric; of a sum they are the sums of those of its parts.

    An image adds to a value how far its queries are from it, as a share of all queries. One without a query of the
    metric adds nothing: its number is the value itself, and not 0, which would be as far from the others as the worst
    query. An image as a candidate of the queries of other images is taken as fixed.

    Raises:
        BadInput: no per-query values of the metric.
    """
    parts = [(str(part), d) for part in vb.parse(metric).parts() for d in DIRECTIONS] if direction is None else []
    if parts:
        return np.asarray(np.sum([per_image(report, *part) for part in parts], axis=0))
    items, known = report.items, {(str(r.metric), r.direction): r for r in (*report.results, *report.parts)}
    result = known.get((metric, direction))  # type: ignore[arg-type]
    if items is None or result is None or result.per_query is None or result.queries is None:
        raise BadInput(f"has no per-query values of {metric}", where=report.split, fix="evaluate it in the suite")
    of_images = str(direction).startswith("i")
    image = pd.Index(items.rows.ids if of_images else items.columns.ids).get_indexer(pd.Index(result.queries))
    if not of_images and items.image_of is not None:
        image = items.image_of[image]
    images = len(items.rows.ids)
    sums, queries = np.bincount(image, result.per_query, images), np.bincount(image, minlength=images)
    value = sums.sum() / queries.sum()
    return np.asarray(value + (sums - value * queries) * (images / queries.sum()))


def results_of(report: vb.Report) -> list[dict[str, Any]]:
    """The numbers of a report, with the standard error over test images; None if a value is no mean."""
    found = []
    for r in report.results:
        own = per_image(report, str(r.metric), r.direction)
        spread = round(float(own.std(ddof=1) / len(own) ** 0.5), 9) if abs(own.mean() - r.value) < 1e-9 else None
        found.append({"metric": str(r.metric), "direction": r.direction, "value": round(r.value, 6), "spread": spread})
    return found


def learned(runs: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """For every loss the metric that selects its epoch, its value and that of the untrained model of its seed."""
    base = {run["seed"]: run["values"] for run in runs.values() if run["variant"] == UNTRAINED}
    found = []
    for name, run in runs.items():
        if run["variant"] != UNTRAINED and run["seed"] in base:
            metric = run["config"]["train"]["select"]
            value, untrained = run["values"][metric], base[run["seed"]][metric]
            found.append({"run": name, "loss": run["loss"], "metric": metric, "value": value, "untrained": untrained,
                          "improved": value > untrained})  # fmt: skip
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table of means over seeds, in percent; exit code 1 where a loss that must learn does not, or diverges."""
    parser = argparse.ArgumentParser(prog="python -m studies.suites", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("suite", help="smoke (every loss, a minute), small (two hours), ablations (three hours)")
    parser.add_argument("--losses", help="only these, separated by commas; also my_loss.py:function")
    parser.add_argument("--out", type=Path, help="folder of the suite; runs/suite-NAME by default")
    parser.add_argument("--jobs", type=int, default=1, help="runs that are trained at a time")
    given = parser.parse_args(arguments)
    if given.jobs < 1:
        parser.error("--jobs is at least 1")
    try:
        losses = None if given.losses is None else [name.strip() for name in given.losses.split(",")]
        suite, folder = get_suite(given.suite, losses), given.out or Path("runs") / f"suite-{given.suite}"
        found = run_suite(suite, folder, given.jobs)
    except VsebenchError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"{error}\n  fix: name another folder with --out", file=sys.stderr)
        return DISK
    shown = pd.DataFrame([{"run": run["variant"], **run["values"]} for run in found["runs"].values()])
    shown = shown[["run", *(name for name in HEADLINE if name in shown)]].groupby("run", sort=False).mean()
    print((100 * shown).round(1).reset_index().to_string(index=False, na_rep=""))
    failed = [f"{one['loss']} does not improve {one['metric']}: {100 * one['value']:.1f}, untrained "
              f"{100 * one['untrained']:.1f}" for one in found.get("learned", ()) if not one["improved"]]  # fmt: skip
    lost = [f"{name} diverged: {run['message']}" for name, run in found["diverged"].items()]
    for line in [*failed, *lost]:
        print(f"warning: {line}", file=sys.stderr)
    print(f"{len(found['runs'])} runs, {found['seconds']:.0f} s; summary in {folder / SUMMARY}", file=sys.stderr)
    return int(bool(failed or (lost and suite.must_learn)))


if __name__ == "__main__":
    sys.exit(main())
