"""Suites of runs: ``SUITES``, the one table, and ``run_suite``, which runs one of them.

``smoke`` shows in minutes that every loss learns; ``small`` has the runs of which ``studies.claims`` states whether the
main claims of the papers hold.

The folder of a suite has a folder a run (``train``) and ``suite.json``, which is written after every run. A run has
``result.json``, the report of its test part with the values of every query; where it is there, the run is not repeated.
A run that diverges is noted in the summary, and the next one begins; a resumed suite tries it again.

What is the same in all runs of ``small``: the encoders, the optimiser and its learning rate, pairs in
a batch, the validation metric that selects the best epoch, and for each seed the first weights and the order of the
captions. What differs, by the configuration of each run:

- the loss, its settings, and the gains from which it takes a degree;
- losses of the hardest negative begin with epochs of the sum of hinges (``loss.warmup``);
- a part of each batch of the losses on label distances is chosen near the rest of it (``loss.neighbours``), so that
  they see fewer of the captions in an epoch, in as many steps;
- reduced data (``data.first``) have more epochs, the decay and the patience in proportion;
- how many epochs are made: training ends when the validation part does not improve (``train.patience``);
- what a claim is about: short embeddings (``model.dim``), embeddings that are not normalised (``model.similarity``).
"""

from __future__ import annotations

import datetime
import json
import multiprocessing
import os
import platform
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
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

from . import checkpoint
from . import config as configs
from .config import Config, from_dict, override
from .data import Bar, no_bar, open_data
from .losses import get_loss, loss_names
from .model import NO_TEXT
from .own_file import fingerprint, label, published
from .train import LOG, Say, no_say, train

SCHEMA = "vsebench/suite/1"
PACKAGES = ("vsebench", "torch", "numpy", "scipy", "numba")
SEEDS = (0, 1, 2)
SHARES = (0.03, 0.05, 0.1, 0.25)  # of the training captions; SAM, WACV 2022, section 5.3
SMALL_DIM = 16  # log-ratio, CVPR 2019, section 5.2: embeddings that are much shorter
EUCLIDEAN = "log_ratio-euclidean"  # embeddings that are not normalised, as the paper proposes for this loss alone
UNTRAINED = "untrained"
COHERENT = "match:CS"  # with the k of the data
DEEP = {"scenes-tiny": 50}  # images of its test part, fewer than the k of CS@100
# The metrics of a table of results, of those that its runs have.
HEADLINE = ("R@1", "RSum", "match:NCS@10", "entails:mAP@R", "labels:nDCG@10")
OF_IMAGES = "nDCG@1,nDCG@10,nDCG@100,MLD@10"  # the metrics of images alone

# The metric that a loss is designed for; the others are designed for recall.
DESIGNED = {
    "ladder": COHERENT,
    "sam": "match:NCS@10",
    "kendall": "match:Kendall",
    "kendall_sw": "match:Kendall",
    "kendall_sw_hs": "match:Kendall",
    "bcls": "match:Kendall",
    "log_ratio": "match:nDCG@10",
    "dense_triplet": "match:nDCG@10",
    "nearest_triplet": "match:nDCG@10",
}
CONTINUOUS = ("log_ratio", "dense_triplet", "nearest_triplet")


@dataclass(frozen=True)
class Planned:
    """One run of a suite.

    Attributes:
        data: name of the data.
        variant: what is trained, without its seed: ``mh``, ``sam-3%``, ``log_ratio-dim16``, ``untrained``.
        config: the complete configuration, with the seed.
    """

    data: str
    variant: str
    config: Config

    @property
    def name(self) -> str:
        """Also its folder, below that of the suite."""
        return f"{self.data}/{self.variant.replace('%', 'pc')}-seed{self.config.train.seed}"


@dataclass(frozen=True)
class Suite:
    """A list of runs.

    Attributes:
        name: of ``--suite``.
        meaning: one line.
        runs: gives the runs; takes the names of losses, None for all.
        must_learn: whether a loss that does not improve on the untrained model is a fault.
    """

    name: str
    meaning: str
    runs: Callable[[list[str] | None], list[Planned]]
    must_learn: bool = False


def get_suite(name: str) -> Suite:
    """A suite by its name; raises UsageError."""
    if name not in SUITES:
        raise unknown("suite", name, SUITES)
    return SUITES[name]


def metric_on(data: str, name: str) -> str:
    """The name of a metric on some data: ``COHERENT`` gets its k."""
    return f"{name}@{DEEP.get(data, 100)}" if name == COHERENT else name


def metrics_of(plan: Planned) -> str:
    """All metrics that a run is evaluated with."""
    if plan.config.model.text == NO_TEXT:
        return OF_IMAGES
    coherent = metric_on(plan.data, COHERENT)
    return f"R@1,R@5,R@10,RSum,match:NCS@10,{coherent},match:Kendall,match:nDCG@10,entails:mAP@R"


# Of --suite smoke, for every loss. One thread, as the matrices are too small for two. With 16 dimensions an untrained
# model has a Kendall's tau of 0.1.
SMOKE_SUITE = {
    "train_epochs": 16, "train_batch": 32, "train_lr": 0.01, "train_threads": 1, "train_decay_every": 0,
    "train_precision": "float64", "model_dim": 32, "model_word_dim": 32, "loss_neighbours": 0,
}  # fmt: skip


def chosen_losses(names: Sequence[str]) -> list[str]:
    """Canonical names of losses; raises UsageError for an unknown name, or one that is given twice."""
    found: list[str] = []
    for name in names:
        if not name:
            raise UsageError(
                "an empty name of a loss", fix=f"separate names by single commas, as in {spell('losses', 'mh,sam')}"
            )
        entry = get_loss(name)
        if label(entry.name) in map(label, found):
            raise UsageError(f"the loss '{entry.name}' is given twice", fix="name every loss once")
        found.append(entry.name)
    return found


def _smoke(losses: list[str] | None = None) -> list[Planned]:
    data = "scenes-tiny"
    runs = [Planned(data, UNTRAINED, override(configured("mh", data), **{**SMOKE_SUITE, "train_epochs": 0}))]
    for name in losses or loss_names():
        found = override(configured(name, data), **SMOKE_SUITE)
        select = metric_on(data, DESIGNED.get(name, "RSum"))  # the best epoch is the best of what is tested
        warmup = 6 if found.loss.warmup else 0
        runs.append(Planned(data, label(name), override(found, loss_warmup=warmup, train_select=select)))
    return runs


# If no run ends before, those on scenes-10k take 116 to 138 minutes on two cores (--jobs 2): estimated from seconds an
# epoch of runs of five epochs, of the fastest seed and of the mean.
SMALL = {"train_epochs": 12, "train_patience": 2, "train_decay_every": 6, "train_threads": 1}


def _small(losses: list[str] | None = None) -> list[Planned]:
    # All runs of a seed before the next: after a third of the time there is one of everything.
    return [planned for seed in SEEDS for planned in _of_seed(seed, losses or loss_names())]


def _of_seed(seed: int, losses: list[str]) -> list[Planned]:
    """Every one of these losses; reduced data for MH and SAM, short embeddings for label distances."""
    runs: list[Planned] = []
    data = "scenes-10k"
    euclidean = {"model_similarity": "euclidean", "loss_settings": {"similarity": "euclidean"}}

    def plan(variant: str, loss: str, **changes: object) -> None:
        found = override(configured(loss, data), **{**SMALL, **changes}, train_seed=seed)
        runs.append(Planned(data, variant, found))

    for name in losses:
        plan(label(name), name)
    if "log_ratio" in losses:
        plan(EUCLIDEAN, "log_ratio", **euclidean)
    for share in SHARES:
        # As many steps as half of the complete run has, but not more than 40 epochs.
        epochs = min(40, round(SMALL["train_epochs"] / 2 / share))
        times = epochs / SMALL["train_epochs"]
        for name in (name for name in ("mh", "sam") if name in losses):
            warmup = max(1, epochs // 3)
            plan(f"{name}-{share:.0%}", name, data_first=share, train_epochs=epochs, loss_warmup=warmup,
                 **{key: round(SMALL[key] * times) for key in ("train_decay_every", "train_patience")})  # fmt: skip
    for name in (name for name in CONTINUOUS if name in losses):
        plan(f"{name}-dim{SMALL_DIM}", name, model_dim=SMALL_DIM)
    if "log_ratio" in losses:
        plan(f"{EUCLIDEAN}-dim{SMALL_DIM}", "log_ratio", model_dim=SMALL_DIM, **euclidean)
    return runs


SAMPLERS, TAUS = ("random", "hard", "soft"), (3.0, 5.0, 10.0)  # of SAM
# Of --suite ablations: variant -> loss and the settings that differ from those of configs/scenes. They follow Tables 3
# and 4 of the ladder loss and the authors' code; Table VIII of BCLS; Tables 4 and 5 of SAM, with the samplers as the
# paper describes them; eq. 5 of log-ratio and the authors' code, and its Figure 3: images alone, by their layouts.
ABLATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "ladder": ("ladder", {}),
    "ladder-beta2=0": ("ladder", {"betas": [1.0, 0.0]}),
    "ladder-beta2=1": ("ladder", {"betas": [1.0, 1.0]}),
    "ladder-L=1": ("ladder", {"thresholds": [], "margins": [0.05], "betas": [1.0]}),
    "ladder-L=3": ("ladder", {"thresholds": [0.7, 0.5], "margins": [0.05, 0.01, 0.01], "betas": [1.0, 0.25, 0.125]}),
    "ladder-sum": ("ladder", {"sampling": "sum"}),
    "ladder-cumulative": ("ladder", {"cumulative": True}),
    "ladder-floor": ("ladder", {"negative_floor": True}),
    "bcls": ("bcls", {}),
    "triplet_sn": ("triplet_sn", {}),
    "kendall_sw_hs": ("kendall_sw_hs", {}),
    **{f"sam-{sampler}-tau={tau:g}{'' if triplet else '-alone'}":
       ("sam", {"sampler": sampler, "tau": tau, "triplet": triplet})
       for sampler in SAMPLERS for tau in TAUS for triplet in (True, False)},
    "log_ratio": ("log_ratio", {}),
    "log_ratio-squared": ("log_ratio", {"squared": True}),
    "log_ratio-ties": ("log_ratio", {"ties": "keep"}),
    # As in the paper, log-ratio compares embeddings as they are, and the triplets unit vectors.
    "images-log_ratio": ("log_ratio,images", {"similarity": "euclidean"}),
    "images-log_ratio-squared": ("log_ratio,images", {"similarity": "euclidean", "squared": True}),
    "images-log_ratio-ties": ("log_ratio,images", {"similarity": "euclidean", "ties": "keep"}),
    "images-dense_triplet": ("dense_triplet,images", {}),
    "images-nearest_triplet": ("nearest_triplet,images", {}),
}  # fmt: skip


def _ablations(losses: list[str] | None = None) -> list[Planned]:
    runs, data = [], "scenes-10k"
    for seed in SEEDS:
        for variant, (recipe, settings) in ABLATIONS.items():
            loss, _, images = recipe.partition(",")
            if losses is not None and loss not in losses:
                continue
            more: dict[str, Any] = {}
            if images:
                more = {"data_features": "pixels", "model_image": "cnn", "model_similarity": settings.get("similarity")}
            found = configs.configured(loss, f"scenes/{recipe}" if images else None, data=data)
            found = override(found, **SMALL, **more, train_seed=seed)
            runs.append(Planned(data, variant, override(found, loss_settings={**found.loss.settings, **settings})))
    return runs


def gains_of(config: Config) -> str:
    """The gains from which the loss of a run takes the degree of relevance of a pair, "" where it takes none."""
    if config.loss.relevance == LABELS:
        return LABELS
    return parse_spec(config.loss.relevance).kind if get_loss(config.loss.name).needs_degree else ""


def configured(loss: str, data: str) -> Config:
    """The configuration of a loss on scenes of some name."""
    return override(configs.configured(loss, data=data), loss_fingerprint=fingerprint(loss))


SUITES = {
    suite.name: suite
    for suite in (
        Suite("smoke", "every loss on 200 scenes; fails when one does not learn", _smoke, must_learn=True),
        Suite("small", "every loss, three seeds, from which studies.claims judges the papers' claims", _small),
        Suite("ablations", "the settings that tables of the papers vary, three seeds (111 runs)", _ablations),
    )
}


# Running


def run_suite(
    suite: Suite,
    out: Path,
    *,
    losses: Sequence[str] | None = None,
    resume: bool = False,
    jobs: int = 1,
    say: Say = print,
    bar: Bar = no_bar,
) -> dict[str, Any]:
    """Run what is not finished yet of a suite.

    Args:
        suite: its runs.
        out: the folder of the suite.
        losses: only the runs of these; as for ``losses.get_loss``, also ``my_loss.py:function``.
        resume: go on in a folder that has runs already.
        jobs: how many runs are trained at a time, each in a process of its own; the values do not depend on it.
        say: for notes about the progress, a line each.
        bar: opens a progress bar under some words.

    Returns:
        The summary, as in ``suite.json``: ``complete``; ``runs`` with the configuration, seconds and values of each;
        ``learned`` where a loss must improve on the untrained model. Runs that diverged are in ``diverged``, with the
        message, and not in ``runs``.

    Raises:
        UsageError: an unknown loss; the folder has runs and ``resume`` is not given, or runs of other settings.
        BadInput, MissingPackage, DiskError: as ``train.train``.
    """
    planned = suite.runs(None if losses is None else chosen_losses(losses))
    if out.exists() and not out.is_dir():
        raise UsageError("is a file", where=out, fix=f"give the folder of the suite with {spell('out')}")
    if not resume and any((out / p.name).exists() for p in planned):
        raise UsageError(
            "holds runs already", where=out, fix=f"add {spell('resume', True)} to continue, or choose another folder"
        )
    make_folder(out)
    summary = _empty(suite, planned, _earlier(out))
    waiting = []
    for plan in planned:
        if (out / plan.name / RESULT).is_file():
            _check_same(plan, out / plan.name)
            say(f"{plan.name}: finished before")
            _note(plan, out, summary, 0.0)
        else:
            waiting.append(plan)
    for plan, seconds, fault in _trained(waiting, out, jobs, say, bar):
        _note(plan, out, summary, seconds, fault)
        _write(out, summary, planned)
    if suite.must_learn:
        summary["learned"] = learned(summary["runs"])
    summary["notes"] = [f"{name} diverged: {run['message']}" for name, run in summary["diverged"].items()]
    summary["complete"] = True
    _write(out, summary, planned)
    return summary


def _trained(
    plans: list[Planned], out: Path, jobs: int, say: Say, bar: Bar
) -> Iterator[tuple[Planned, float, str | None]]:
    """Train runs; yields each when it is finished, with its seconds and, where it diverged, the message."""
    if jobs == 1:
        for number, plan in enumerate(plans, start=1):
            say(f"{number} of {len(plans)}, {plan.name}:")
            seconds, fault = _train(plan, out, lambda text: say(f"  {text}"), bar)
            if fault is not None:
                say(f"  diverged: {fault}")
            yield plan, seconds, fault
        return
    for plan in {plan.config.data: plan for plan in plans}.values():
        open_data(plan.config, bar)  # so that data which are generated are, before processes wait for each other
    context, started = multiprocessing.get_context("spawn"), time.monotonic()
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_end_with_parent) as workers:
        try:
            running = {workers.submit(_train, plan, out, no_say, no_bar): plan for plan in plans}
            for number, done in enumerate(as_completed(running), start=1):
                plan, (seconds, fault) = running[done], done.result()
                left = (time.monotonic() - started) / number * (len(plans) - number)
                said = f"{seconds:.0f} s" if fault is None else f"diverged: {fault}"
                say(f"{number} of {len(plans)}, {plan.name}: {said}, about {left / 60:.0f} min left")
                yield plan, seconds, fault
        except BaseException:  # also when interrupted: runs go on with --resume after their last epoch
            workers.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise


def _train(plan: Planned, out: Path, say: Say, bar: Bar) -> tuple[float, str | None]:
    """Train one run, or go on with it; returns the seconds that it took and, where it diverged, the message."""
    started = time.monotonic()
    try:
        train(plan.config, out / plan.name, resume=True, metrics=metrics_of(plan), say=say, bar=bar)
    except Diverged as error:
        return time.monotonic() - started, error.what
    return time.monotonic() - started, None


def _end_with_parent() -> None:
    """End this process when the one that started it is killed, which otherwise it would not notice."""
    parent = multiprocessing.parent_process()
    if parent is not None:

        def wait() -> None:
            parent.join()
            os._exit(1)

        threading.Thread(target=wait, daemon=True).start()


def _note(plan: Planned, out: Path, summary: dict[str, Any], seconds: float, fault: str | None = None) -> None:
    """Put a run into the summary; ``seconds`` are added to those of an earlier call."""
    diverged = summary["diverged"].pop(plan.name, {})
    seconds += summary["runs"].pop(plan.name, diverged).get("seconds", 0.0)
    facts: dict[str, Any] = {
        "data": plan.data,
        "variant": plan.variant,
        "loss": published(plan.config.loss.name),
        "seed": plan.config.train.seed,
        "seconds": round(seconds, 1),
    }
    if fault is None:
        summary["runs"][plan.name] = facts | _results(plan, out / plan.name)
    else:
        summary["diverged"][plan.name] = {**facts, "message": fault}


def _results(plan: Planned, folder: Path) -> dict[str, Any]:
    """What the summary says of a finished run."""
    report, log = vb.load(folder / RESULT), folder / LOG
    config = plan.config.to_dict()
    config["loss"]["name"] = published(plan.config.loss.name)  # the summary may be published: without its folder
    return {
        "epochs": log.read_bytes().count(b"\n") if log.is_file() else 0,
        "best_epoch": checkpoint.read(folder).progress.best_epoch,
        "degree": gains_of(plan.config),
        "values": {key: round(value, 6) for key, value in means(report).items()},
        "results": results_of(report),  # both directions, each with its spread over the test images
        "signature": report.signature,
        "config": config,
    }


def means(report: Report) -> dict[str, float]:
    """Every metric of a report; of a metric with two directions their mean."""
    found: dict[str, list[float]] = {}
    for result in report.results:
        found.setdefault(str(result.metric), []).append(float(result.value))
    return {name: sum(values) / len(values) for name, values in found.items()}


def learned(runs: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """For every loss the metric that it is designed for, its value and that of the untrained model of its seed."""
    base = {(r["data"], r["seed"]): r["values"] for r in runs.values() if r["variant"] == UNTRAINED}
    out = []
    for name, run in runs.items():
        key = (run["data"], run["seed"])
        if run["variant"] == UNTRAINED or key not in base:
            continue
        metric = metric_on(run["data"], DESIGNED.get(run["loss"], "RSum"))
        value, untrained = run["values"][metric], base[key][metric]
        out.append({
            "run": name, "loss": run["loss"], "metric": metric, "value": value, "untrained": untrained,
            "improved": value > untrained,
        })  # fmt: skip
    return out


def headline(summary: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """The table of a summary, for reading: headings, and a row a variant with means over its seeds, in percent."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for run in summary["runs"].values():
        groups.setdefault(run["variant"], []).append(run)
    rows, known = [], [m for m in HEADLINE if any(m in run["values"] for run in summary["runs"].values())]
    for variant, runs in groups.items():
        values = [[100 * r["values"][m] for r in runs if m in r["values"]] for m in known]
        rows.append([variant, *(f"{sum(found) / len(found):.1f}" if found else "" for found in values)])
    return ["run", *known], rows


def _check_same(plan: Planned, folder: Path) -> None:
    """Refuse a finished run of another configuration."""
    try:
        stored = from_dict(json.loads((folder / ABOUT).read_text(encoding="utf-8"))["config"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadInput("is damaged", where=folder / ABOUT, fix="delete the folder of this run") from error
    if stored != plan.config:
        fix = f"delete the folder of this run, or choose another {spell('out')}"
        raise UsageError("was trained with other settings than the suite has now", where=folder, fix=fix)


def _empty(suite: Suite, planned: list[Planned], earlier: dict[str, Any]) -> dict[str, Any]:
    """The summary with the finished runs of an earlier call."""
    names = {p.name for p in planned}
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    return {
        "schema": SCHEMA,
        "suite": suite.name,
        "complete": False,
        "started": earlier.get("started", now),
        "seeds": sorted({p.config.train.seed for p in planned}),
        "notes": [],
        "versions": versions(PACKAGES),
        "machine": _machine(),
        "python": platform.python_version(),
        "seconds": 0.0,
        "runs": {name: run for name, run in earlier.get("runs", {}).items() if name in names},
        "diverged": {name: run for name, run in earlier.get("diverged", {}).items() if name in names},
    }


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


def _earlier(out: Path) -> dict[str, Any]:
    """The summary of an earlier call, {} without one."""
    try:
        found = json.loads((out / SUMMARY).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise BadInput("is no JSON", where=out / SUMMARY, fix="delete it; finished runs are kept") from error
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        fix = "delete it; finished runs are kept"
        raise BadInput("is no summary of a suite of this version", where=out / SUMMARY, fix=fix)
    return found


def _write(out: Path, summary: dict[str, Any], planned: list[Planned]) -> None:
    runs = summary["runs"]
    summary["runs"] = {plan.name: runs[plan.name] for plan in planned if plan.name in runs}
    every = [*summary["runs"].values(), *summary["diverged"].values()]
    summary["seconds"] = round(sum(run["seconds"] for run in every), 1)
    with write_atomically(out / SUMMARY, "w") as stream:
        stream.write(json.dumps(summary, indent=1) + "\n")
