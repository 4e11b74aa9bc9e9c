"""Suites: lists of runs, which are tables in ``configs/suites``, and ``run_suite``, which trains them.

``smoke`` shows in minutes that every loss learns; ``small`` has the runs of which ``studies.claims`` states whether the
main claims of the papers hold, and ``ablations`` those for tables of their settings.

The folder of a suite has a folder a run (``train``). A run is finished when ``result.json`` is there, the report of its
test part with the values of every query; it is not repeated. One that diverges leaves the message in
``diverged.txt``, and the next one begins; a resumed suite tries it again. At the end ``suite.json`` is made from these
folders, see ``summary``.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import re
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import vsebench as vb
from vsebench.errors import BadInput, Diverged, UsageError
from vsebench.evaluation.provenance import versions
from vsebench.files.atomic import make_folder, write_atomically
from vsebench.files.run_folder import ABOUT, RESULT, SUMMARY
from vsebench.leaderboard.suites import results_of
from vsebench.options import spell
from vsebench.registry import unknown
from vsebench.relevance import parse_spec
from vsebench.relevance.sources import LABELS
from vsebench.results.report import Report

from . import config as configs
from .checkpoint import BEST, check_same
from .config import Config, assign, configured, fingerprinted, from_dict, override, read_toml
from .data import Bar, no_bar
from .losses import get_loss, loss_names
from .model import NO_TEXT
from .own_file import label, published
from .sources import open_data
from .train import LOG, Say, best_epoch, no_say, train

SCHEMA = "vsebench/suite/1"
PACKAGES = ("vsebench", "torch", "numpy", "scipy", "numba")
FOLDER = configs.FOLDER / "suites"
DIVERGED = "diverged.txt"
UNTRAINED = "untrained"
EVERY = "*"  # a row that stands for one of every loss
# The metrics of a table of results, of those that its runs have.
HEADLINE = ("R@1", "RSum", "match:NCS@10", "entails:mAP@R", "labels:nDCG@10")


@dataclass(frozen=True)
class Planned:
    """One run of a suite.

    Attributes:
        variant: what is trained, without its seed: ``mh``, ``sam-3%``, ``log_ratio-dim16``, ``untrained``.
        config: the complete configuration, with the seed.
        metrics: what it is evaluated with.
    """

    variant: str
    config: Config
    metrics: str

    @property
    def name(self) -> str:
        """Also its folder, below that of the suite."""
        return f"{self.config.data.name}/{self.variant.replace('%', 'pc')}-seed{self.config.train.seed}"

    @property
    def facts(self) -> dict[str, Any]:
        """What the summary says of it, whether or not it is finished; a loss of a file is named without its folder."""
        config = self.config
        loss, seed = published(config.loss.name), config.train.seed
        return {"data": config.data.name, "variant": self.variant, "loss": loss, "seed": seed}


@dataclass(frozen=True)
class Suite:
    """A list of runs.

    Attributes:
        name: of ``--suite``.
        runs: those of a seed before those of the next: after a third of the time there is one of everything.
        must_learn: whether a loss that does not improve on the untrained model is a fault.
    """

    name: str
    runs: tuple[Planned, ...]
    must_learn: bool = False


def get_suite(name: str, losses: Sequence[str] | None = None) -> Suite:
    """The suite of a table in ``configs/suites``.

    Args:
        name: of the file.
        losses: only the runs of these, and the untrained model; as for ``losses.get_loss``, also
            ``my_loss.py:function``.

    Raises:
        UsageError: an unknown suite or loss, two losses of one name, or none that the suite has.
    """
    known = sorted(path.stem for path in FOLDER.glob("*.toml"))
    if name not in known:
        raise unknown("suite", name, known)
    table = read_toml(FOLDER / f"{name}.toml")
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
        raise UsageError(
            f"suite '{name}' has no run of {', '.join(every)}",
            fix="give a loss that it has, or the suite 'small'",
        )
    planned = [
        Planned(variant, override(config, {"train.seed": seed}),
                table["metrics_of_images" if config.model.text == NO_TEXT else "metrics"])
        for seed in table["seeds"] for variant, config in chosen.items()
    ]  # fmt: skip
    return Suite(name, tuple(planned), table.get("must_learn", False))


# Running


def run_suite(
    suite: Suite, out: Path, *, resume: bool = False, jobs: int = 1, say: Say = print, bar: Bar = no_bar
) -> dict[str, Any]:
    """Train what is not finished yet of a suite.

    Args:
        suite: its runs.
        out: the folder of the suite.
        resume: go on in a folder that has runs already.
        jobs: how many runs are trained at a time, each in a process of its own; the values do not depend on it.
        say: for notes about the progress, a line each.
        bar: opens a progress bar under some words.

    Returns:
        The summary, as in ``suite.json``.

    Raises:
        UsageError: the folder has runs and ``resume`` is not given, or runs of other settings.
        BadInput, MissingPackage, DiskError: as ``train.train``.
    """
    if out.is_file():
        raise UsageError("is a file", where=out, fix=f"give the folder of the suite with {spell('out')}")
    if not resume and any((out / p.name).exists() for p in suite.runs):
        raise UsageError(
            "holds runs already", where=out, fix=f"add {spell('resume', True)} to continue, or choose another folder"
        )
    make_folder(out)
    waiting = []
    for plan in suite.runs:
        if (out / plan.name / RESULT).is_file():
            check_same(_stored(out / plan.name), plan.config, out / plan.name)
            say(f"{plan.name}: finished before")
        else:
            waiting.append(plan)
    if waiting:
        (out / SUMMARY).unlink(missing_ok=True)  # that of fewer runs
    if jobs == 1:
        for number, plan in enumerate(waiting, start=1):
            say(f"{number} of {len(waiting)}, {plan.name}:")
            say(f"  {_train(plan, out, lambda text: say(f'  {text}'), bar)}")
    else:
        _train_all(waiting, out, jobs, say, bar)
    found = summary(suite, out)
    with write_atomically(out / SUMMARY, "w") as stream:
        stream.write(json.dumps(found, indent=1) + "\n")
    return found


def _stored(folder: Path) -> Config:
    """The configuration of a finished run."""
    try:
        return from_dict(json.loads((folder / ABOUT).read_text(encoding="utf-8"))["config"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadInput("is damaged", where=folder / ABOUT, fix="delete the folder of this run") from error


def _train_all(plans: list[Planned], out: Path, jobs: int, say: Say, bar: Bar) -> None:
    """Train runs, some at a time, in processes of their own; they end with this one, also when it is killed."""
    for plan in {plan.config.data: plan for plan in plans}.values():
        open_data(plan.config, bar)  # so that data which are generated are, before processes wait for each other
    context, started = multiprocessing.get_context("spawn"), time.monotonic()
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_end_with_parent) as workers:
        try:
            running = {workers.submit(_train, plan, out, no_say, no_bar): plan for plan in plans}
            for number, done in enumerate(as_completed(running), start=1):
                left = (time.monotonic() - started) / number * (len(plans) - number)
                said = f"{number} of {len(plans)}, {running[done].name}: {done.result()}"
                say(f"{said}, about {left / 60:.0f} min left")
        except BaseException:  # also when interrupted: runs go on with --resume after their last epoch
            workers.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise


def _train(plan: Planned, out: Path, say: Say, bar: Bar) -> str:
    """Train one run, or go on with it; returns what is said of it."""
    folder, started = out / plan.name, time.monotonic()
    (folder / DIVERGED).unlink(missing_ok=True)
    try:
        train(plan.config, folder, resume=(folder / BEST).exists(), metrics=plan.metrics, say=say, bar=bar)
    except Diverged as error:
        with write_atomically(folder / DIVERGED, "w", parents=True) as stream:
            stream.write(error.what)
        return f"diverged: {error.what}"
    return f"{time.monotonic() - started:.0f} s"


def _end_with_parent() -> None:
    """End this process when the one that started it is killed, which otherwise it would not notice."""
    parent = multiprocessing.parent_process()
    if parent is not None:

        def wait() -> None:
            parent.join()
            os._exit(1)

        threading.Thread(target=wait, daemon=True).start()


# What the runs have in common


def summary(suite: Suite, out: Path) -> dict[str, Any]:
    """What ``suite.json`` says, from the folders of the runs: every one is finished or diverged.

    Returns:
        ``runs`` with the configuration, the values and the seconds of the epochs of each; ``learned`` where a loss must
        improve on the untrained model. Runs that diverged are in ``diverged``, with the message, and not in ``runs``.

    Raises:
        BadInput: a report is damaged.
    """
    runs, diverged, started = {}, {}, []
    for plan in suite.runs:
        folder = out / plan.name
        if (folder / RESULT).is_file():
            report = vb.load(folder / RESULT)
            started.append(str(report.provenance.get("started", "")))
            runs[plan.name] = plan.facts | _results(plan, folder, report)
        else:
            diverged[plan.name] = {**plan.facts, "message": (folder / DIVERGED).read_text(encoding="utf-8")}
    return {
        "schema": SCHEMA,
        "suite": suite.name,
        "complete": True,
        "started": min(started, default=""),
        "seeds": sorted({p.config.train.seed for p in suite.runs}),
        "notes": [f"{name} diverged: {run['message']}" for name, run in diverged.items()],
        "versions": versions(PACKAGES),
        "machine": _machine(),
        "python": platform.python_version(),
        "seconds": round(sum(run["seconds"] for run in runs.values()), 1),
        "runs": runs,
        "diverged": diverged,
        **({"learned": learned(runs)} if suite.must_learn else {}),
    }


def _results(plan: Planned, folder: Path, report: Report) -> dict[str, Any]:
    """What the summary says of a finished run."""
    lines = (folder / LOG).read_text(encoding="utf-8").splitlines() if (folder / LOG).is_file() else []
    log = [json.loads(line) for line in lines]
    config = plan.config.to_dict()
    config["loss"]["name"] = published(plan.config.loss.name)
    return {
        "seconds": round(sum(line.get("seconds", 0.0) for line in log), 1),
        "epochs": len(log),
        "best_epoch": best_epoch(plan.config, log),
        "degree": gains_of(plan.config),
        "values": {key: round(value, 6) for key, value in means(report).items()},
        "results": results_of(report),  # both directions, each with its spread over the test images
        "signature": report.signature,
        "config": config,
    }


def gains_of(config: Config) -> str:
    """The gains from which the loss of a run takes the degree of relevance of a pair, "" where it takes none."""
    if config.loss.relevance == LABELS:
        return LABELS
    return parse_spec(config.loss.relevance).kind if get_loss(config.loss.name).needs_degree else ""


def means(report: Report) -> dict[str, float]:
    """Every metric of a report; of a metric with two directions their mean."""
    found: dict[str, list[float]] = {}
    for result in report.results:
        found.setdefault(str(result.metric), []).append(float(result.value))
    return {name: sum(values) / len(values) for name, values in found.items()}


def learned(runs: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """For every loss the metric that selects its epoch, its value and that of the untrained model of its seed."""
    base = {run["seed"]: run["values"] for run in runs.values() if run["variant"] == UNTRAINED}
    out = []
    for name, run in runs.items():
        if run["variant"] != UNTRAINED and run["seed"] in base:
            metric = run["config"]["train"]["select"]
            pair = {"value": run["values"][metric], "untrained": base[run["seed"]][metric]}
            improved = pair["value"] > pair["untrained"]
            out.append({"run": name, "loss": run["loss"], "metric": metric, **pair, "improved": improved})
    return out


def headline(found: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """The table of a summary, for reading: headings, and a row a variant with means over its seeds, in percent."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for run in found["runs"].values():
        groups.setdefault(run["variant"], []).append(run["values"])
    known = [m for m in HEADLINE if any(m in values for runs in groups.values() for values in runs)]
    rows = []
    for variant, runs in groups.items():
        shown = [[100 * values[m] for values in runs if m in values] for m in known]
        rows.append([variant, *(f"{sum(numbers) / len(numbers):.1f}" if numbers else "" for numbers in shown)])
    return ["run", *known], rows


def _machine() -> dict[str, Any]:
    """The machine, and the instructions that torch uses on it."""
    try:
        name = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        name = None
    processor = name[1].strip() if name else platform.processor() or platform.machine()
    return {
        "platform": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "processor": f"{processor}, {torch.backends.cpu.get_cpu_capability()}",
    }
