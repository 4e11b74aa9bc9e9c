"""The training loop: read it from ``train`` downwards.

An epoch draws batches of pairs, takes a step of Adam for each, evaluates the validation part with ``vsebench.evaluate``
and writes ``last.safetensors``; the best epoch is kept in ``best.safetensors``. At the end the best model encodes the
test part into ``embeddings.npz``, which ``vsebench eval`` reads.
"""

from __future__ import annotations

import json
import math
import os
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import vsebench as vb
from vsebench.errors import BadInput, Diverged, UsageError, count_of
from vsebench.files.atomic import make_folder, write_atomically
from vsebench.files.lock import locked
from vsebench.files.run_folder import ABOUT, LAST, RESULT
from vsebench.options import spell
from vsebench.pretrained.device import device_of
from vsebench.results.format import printed
from vsebench.results.report import Report
from vsebench.types import Split

from . import checkpoint, encode, parallel, relevance, text
from .checkpoint import BEST, Progress
from .config import Config, override
from .data import Bar, Loader, Part, PartName, no_bar, open_data
from .losses import Loss, fingerprint, get_loss
from .model import DualEncoder, scores
from .towers import build, groups

Say = Callable[[str], None]
LOG = "log.jsonl"


def no_say(text: str) -> None:
    """No notes: those of several processes would be mixed."""


@dataclass(frozen=True, eq=False)
class Run:
    """Everything that a step needs."""

    config: Config
    model: DualEncoder
    optimiser: torch.optim.Optimizer
    loss: Loss
    loader: Loader
    parts: dict[PartName, Part]
    vocabulary: text.Vocabulary
    device: torch.device


def train(
    config: Config, out: Path, *, resume: bool = False, metrics: str | None = None, say: Say = print, bar: Bar = no_bar
) -> Report:
    """Train a model, and evaluate its best epoch on the test part.

    Args:
        config: the complete configuration.
        out: the folder of the run: checkpoints, log, embeddings of the test part, and the report.
        resume: continue a run in this folder after its last finished epoch; the result has the same bits as that of an
            uninterrupted run. Where there is nothing to resume, the run begins.
        metrics: of the test part, without intervals; None for the headline metrics with intervals.
        say: for notes about the progress, a line each.
        bar: opens a progress bar under some words.

    Returns:
        The report of the test part.

    Raises:
        UsageError: settings that do not fit, or a folder that holds another run.
        BadInput, MissingPackage: of the data.
        Diverged: a loss is not a number.
        DiskError: a checkpoint cannot be written; the one before it is left as it was.
    """
    config = override(config, loss_fingerprint=fingerprint(config.loss.name))
    with _folder(out):
        run = prepare(config, bar)
        progress = _begin(run, out, resume, say)
        _epochs(run, out, progress, say, bar)
        return _finish(run, out, progress, metrics, say)


def _epochs(run: Run, out: Path, progress: Progress, say: Say, bar: Bar) -> None:
    """All epochs that are left, each with its evaluation, checkpoints and line of the log."""
    config = run.config
    metrics = "recall" if config.train.select == "RSum" else f"recall,{config.train.select}"
    while progress.epoch < config.train.epochs and not _stops(config, progress):
        epoch, started = progress.epoch, time.monotonic()
        _schedule(run, epoch)
        with bar(f"this epoch, {epoch + 1} of {config.train.epochs}") as update:
            mean = _epoch(run, epoch, progress, update)
        report = _evaluate(_encoded(run, "val"), metrics)
        value = _value(report, config.train.select)
        values = {name: round(value, 6) for name, value in report.to_dict(prefix="").items()}
        progress.epoch += 1
        progress.log.append({"epoch": epoch + 1, "loss": mean, "lr": run.optimiser.param_groups[0]["lr"], **values})
        if 0 < epoch == config.loss.warmup:
            progress.best = None  # the best epoch is one of the loss itself, where it has any
            say(f"the warm-up of {count_of(epoch, 'epoch')} is over: the best epoch is chosen from here on")
        better = progress.best is None or value > progress.best
        if better:
            progress.best, progress.best_epoch = value, epoch + 1
        seconds = time.monotonic() - started
        if parallel.is_first():
            if better:
                _save(run, out / BEST, progress)
            _save(run, out / LAST, progress, run.optimiser)
            with write_atomically(out / LOG, "w") as stream:  # complete, also of a resumed run
                stream.writelines(json.dumps(line) + "\n" for line in progress.log)
        left = (config.train.epochs - epoch - 1) * seconds
        shown = f"{config.train.select} {_shown(report, config.train.select)}{' (best)' if better else ''}"
        say(f"epoch {epoch + 1:>3}: loss {mean:.3f}, {shown}, {seconds:.0f} s, about {_duration(left)} left in all")
    if _stops(config, progress):
        say(f"stopped: no better {config.train.select} in {count_of(config.train.patience, 'epoch')}")


def _stops(config: Config, progress: Progress) -> bool:
    """Whether ``train.patience`` ends a run; decided by its checkpoint alone, so that a resumed run decides alike."""
    begun = max(progress.best_epoch, config.loss.warmup, config.train.finetune_from)
    return 0 < config.train.patience <= progress.epoch - begun


@contextmanager
def _folder(out: Path) -> Iterator[None]:
    """Make the folder of a run, and lock it while the run is in it; a folder that stays empty is removed.

    Raises:
        DiskError: it cannot be made or written, or another process is training in it.
    """
    if not parallel.is_first():
        yield
        return
    made = not out.exists()
    make_folder(out)
    try:
        with locked(out / ".lock", "this folder is used"):
            yield
    finally:
        if made:
            with suppress(OSError):  # it has files
                out.rmdir()


def prepare(config: Config, bar: Bar) -> Run:
    """Open the data and make the model, its optimiser and the batches; raises as ``train``."""
    t = config.train
    if t.threads:
        torch.set_num_threads(t.threads)
    if t.deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it torch refuses products on a GPU
    torch.use_deterministic_algorithms(t.deterministic)
    torch.utils.deterministic.fill_uninitialized_memory = False  # nothing here reads such memory; 40 % of a step
    device = torch.device(device_of(t.device))
    _check_pooling(config, device)
    checkpoint.require()
    loss = get_loss(config.loss.name)
    relevance.check_range(config.loss, loss.degree)
    _check_settings(loss, config.loss.settings)
    parts = parallel.first_before_others(lambda: open_data(config, bar))
    _check_select(t.select, parts["val"].split)
    vocabulary = text.build(parts["train"].captions, config.data.word_count)
    torch.manual_seed(t.seed)
    model = build(config.model, parts["train"].images, len(vocabulary.words), t.precision).to(device)
    loader = _loader(config, loss, parts["train"], vocabulary, bar)
    optimiser = torch.optim.Adam(groups(model, config), lr=t.lr, weight_decay=t.weight_decay)
    parallel.check(t.batch, min(t.batch - config.loss.neighbours, len(parts["train"].captions)))
    return Run(config, model, optimiser, loss, loader, parts, vocabulary, device)


def step(run: Run, batch: dict[str, Any], epoch: int, number: int = 1) -> float:
    """One step of the optimiser, the one of this number in its epoch; returns the loss of the batch a pair.

    Raises:
        Diverged: the loss or its gradient is not a finite number; the weights are left as they were.
    """
    config = run.config
    run.model.train()
    run.optimiser.zero_grad(set_to_none=True)
    mine = parallel.slice_of(batch)
    with torch.autocast(run.device.type, torch.bfloat16) if config.train.precision == "bf16" else nullcontext():
        images, captions = run.model(_to(mine, run.device))
    if config.train.precision == "bf16":
        images, captions = images.float(), captions.float()
    images, captions = parallel.gathered(images), parallel.gathered(captions)
    s = scores(images, captions, config.model)
    total = _loss(run, s, batch, epoch)
    value = float(total.detach())
    _check_finite("loss", value, run, batch, epoch, number)
    total.backward()
    parallel.add_gradients(run.model)
    if config.train.clip:
        norm = nn.utils.clip_grad_norm_(run.model.parameters(), config.train.clip)
        _check_finite("norm of the gradient", float(norm), run, batch, epoch, number)
    run.optimiser.step()
    return value / len(s)


def _check_finite(name: str, value: float, run: Run, batch: dict[str, Any], epoch: int, number: int) -> None:
    """Raise Diverged, with the step and the ids of its captions, where a value is not a finite number."""
    if not math.isfinite(value):
        ids = ", ".join(map(str, run.parts["train"].split.caption_ids[batch["captions"]][:5].tolist()))
        what = f"the {name} is {value} in epoch {epoch + 1}, step {number}, in the batch of captions {ids}, ..."
        raise Diverged(what, fix="lower the learning rate, or check the features of these images")


def _loss(run: Run, s: torch.Tensor, batch: dict[str, Any], epoch: int) -> torch.Tensor:
    """The loss of a batch; the sum of hinges in the epochs of the warm-up."""
    settings = run.config.loss
    positive = batch["positive"].to(s.device)
    if settings.spare == "pair":
        positive = torch.eye(len(s), dtype=torch.bool, device=s.device)
    if epoch < settings.warmup:
        margin = {k: v for k, v in settings.settings.items() if k == "margin"}
        total: torch.Tensor = get_loss("sh").function(s, positive, **margin)
        return total
    extra = {"degree": batch["degree"].to(s.device)} if run.loss.needs_degree else {}
    total = run.loss.function(s, positive, **settings.settings, **extra)
    return total


def _epoch(run: Run, epoch: int, progress: Progress, update: Callable[[int, int], None] | None) -> float:
    """All steps of an epoch; returns the mean loss of a pair."""
    total, steps = 0.0, run.loader.steps
    for n, batch in enumerate(run.loader(epoch), start=1):
        total += step(run, batch, epoch, n)
        progress.step += 1
        if update is not None:
            update(n, steps)
    return total / steps


def _check_pooling(config: Config, device: torch.device) -> None:
    """Refuse a network whose pooling has no deterministic gradient on a GPU: it may be trained from a late epoch on."""
    model, trained = config.model, config.model.image == "cnn" or config.model.finetune
    if config.train.deterministic and device.type == "cuda" and trained and model.image in ("cnn", "vgg19"):
        what = f"train.deterministic is true, and torch has no deterministic gradient of the pooling of {model.image}"
        raise UsageError(f"{what} on a GPU", fix="add --set train.deterministic=false")


def _begin(run: Run, out: Path, resume: bool, say: Say) -> Progress:
    """The progress of a new or of a resumed run."""
    last = out / LAST
    if not last.exists():
        say(_described(run))
        return Progress()
    if not resume:
        raise UsageError(
            "holds a run already",
            where=out,
            fix=f"add {spell('resume', True)} to continue it, or choose another folder",
        )
    found = _loaded(run, last, out)
    checkpoint.restore(found, run.optimiser)
    say(f"resumed after epoch {found.progress.epoch} of {run.config.train.epochs}")
    if found.progress.epoch < run.config.train.epochs and parallel.is_first():
        for name in (ABOUT, RESULT):  # of the epochs so far
            (out / name).unlink(missing_ok=True)
    return found.progress


def _loaded(run: Run, path: Path, out: Path) -> checkpoint.Checkpoint:
    """A checkpoint of this run, whose weights the model has now."""
    found, images = checkpoint.read(path), run.parts["train"].images
    _same(found.config, run.config, out)
    if (found.vocabulary, found.width, found.kind) != (run.vocabulary, images.width, images.kind):
        raise BadInput(
            "was trained on other data", where=path, fix=f"give the data of that run, or another {spell('out')}"
        )
    found.load_into(run.model)
    return found


def _same(old: Config, new: Config, out: Path) -> None:
    """Refuse to resume with other settings, but for those that do not change what is trained."""
    free = {("train", name) for name in ("epochs", "device", "threads", "deterministic")}
    for section, values in old.to_dict().items():
        for key, value in values.items():
            now = getattr(getattr(new, section), key)
            if now != value and (section, key) not in free:
                what = f"was trained with {section}.{key} = {value!r}, not {now!r}"
                raise UsageError(
                    what, where=out, fix=f"resume with the same configuration, or choose another {spell('out')}"
                )


def _finish(run: Run, out: Path, progress: Progress, metrics: str | None, say: Say) -> Report:
    """Encode the test part with the best epoch, and evaluate it."""
    parallel.wait()  # the first process may still write that epoch
    if progress.best_epoch:
        _loaded(run, out / BEST, out)
    elif parallel.is_first():
        _save(run, out / BEST, progress)
    found = _encoded(run, "test")
    report = _evaluate(found, metrics)
    if parallel.is_first():
        encode.write(found, run.parts["test"], run.config, out)
        report.save(str(out / RESULT))
    say(f"best epoch {progress.best_epoch} of {progress.epoch}; test part of {run.config.data.name} in {out / RESULT}")
    return report


def _encoded(run: Run, part: PartName) -> dict[str, Any]:
    """The arguments of ``vsebench.evaluate`` for a part, which all processes encode with the model of the first one."""
    parallel.share_statistics(run.model)
    return encode.embeddings([(run.model, run.device)], run.vocabulary, run.parts[part], run.config)


def _evaluate(found: dict[str, Any], metrics: str | None) -> Report:
    """The report of the first process: some metrics without intervals, or all headline ones (None)."""
    more: dict[str, Any] = {} if metrics is None else {"metrics": metrics, "ci": 0}
    return parallel.of_first(lambda: vb.evaluate(**found, trust=True, **more))


def _check_select(name: str, split: Split) -> None:
    """Refuse a selecting metric that is none, or that the validation part does not have, by evaluating noise.

    Raises:
        UsageError, MissingPackage: as ``vsebench.evaluate``.
    """
    try:
        known = str(vb.parse(name))
    except UsageError as error:
        raise UsageError(f"train.select: {error.what}", fix=error.fix) from error
    if known != name:
        raise UsageError(f"train.select is '{name}'", fix=f"write {known}")
    if name != "RSum":
        rng = np.random.default_rng(0)
        images, texts = (rng.standard_normal((len(ids), 4), np.float32) for ids in (split.image_ids, split.caption_ids))
        _value(vb.evaluate(images, texts, split=split, metrics=name, trust=True, ci=0), name)


def _check_settings(loss: Loss, settings: dict[str, Any]) -> None:
    """Refuse settings that a loss does not have or cannot compute with; raises UsageError."""
    unknown = sorted(set(settings) - set(loss.settings))
    if unknown:
        fix = f"use {', '.join(loss.settings) or 'none'}"
        raise UsageError(f"loss '{loss.name}' has no setting '{unknown[0]}'", fix=fix)
    given = ", ".join(f"{name} = {value!r}" for name, value in settings.items())
    known = ", ".join(f"{name} = {value!r}" for name, value in loss.settings.items())
    named, fix = f"loss '{loss.name}'{given and f' with {given}'}", f"give values as in {known}"
    pairs = torch.eye(3, requires_grad=True)
    extra = {"degree": torch.eye(3)} if loss.needs_degree else {}
    try:
        total = loss.function(pairs, torch.eye(3, dtype=torch.bool), **settings, **extra)
    except UsageError:
        raise
    except (Exception, SystemExit) as error:  # code of the user raises anything
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"line {last.lineno} of {Path(last.filename).name}"
        what = f"{named} fails ({type(error).__name__}: {error}; {place})"
        raise UsageError(what, fix=fix if known else "correct the function") from error
    if not isinstance(total, torch.Tensor) or total.ndim or not total.requires_grad:
        shown = f"a tensor of shape {tuple(total.shape)}" if isinstance(total, torch.Tensor) else repr(total)[:60]
        raise UsageError(f"loss '{loss.name}' returns {shown}", fix="return a scalar tensor that depends on the scores")
    if not total.isfinite():
        raise UsageError(f"{named} is {total.item()} for three pairs", fix=fix if known else "correct the function")


def _value(report: Report, name: str) -> float:
    """A metric, or the mean of its two directions, such that larger is better."""
    found = [result for result in report.results if str(result.metric) == name]
    if not found:
        raise UsageError(f"train.select is '{name}'", fix="give one metric, such as RSum or cider:NCS@10")
    mean = sum(result.value for result in found) / len(found)
    return mean if found[0].higher_is_better else -mean


def _loader(config: Config, loss: Loss, part: Part, vocabulary: text.Vocabulary, bar: Bar) -> Loader:
    """The batches; with a degree where the loss takes one."""
    degree = near = None
    if loss.needs_degree or config.loss.neighbours:
        with bar(f"relevance of the training captions ({config.loss.relevance})") as update:
            tell = None if update is None else lambda share: update(round(1000 * share), 1000)
            gains = relevance.load(config.loss, part.split, tell)
        degree = relevance.degrees(gains, config.loss) if loss.needs_degree else None
        image_of, reference = part.split.owners, config.loss.reference
        near = relevance.nearest(gains, image_of, reference) if config.loss.neighbours else None
    t = config.train
    words, few = vocabulary.encode(part.captions), config.loss.neighbours
    return Loader(part, words, t.batch, t.seed, degree, few, near, parallel.count())


def _schedule(run: Run, epoch: int) -> None:
    """The learning rates of an epoch, counted from 0."""
    t = run.config.train
    factor = t.decay ** (epoch // t.decay_every) if t.decay_every else 1.0
    groups = run.optimiser.param_groups
    groups[0]["lr"] = t.lr * factor
    if len(groups) > 1:
        tuned = run.config.model.finetune and epoch >= t.finetune_from
        groups[1]["lr"] = t.finetune_lr if tuned else 0.0
        for parameter in groups[1]["params"]:
            parameter.requires_grad_(tuned)
        if tuned and t.finetune_from:
            groups[0]["lr"] = t.finetune_lr


def _save(run: Run, path: Path, progress: Progress, optimiser: torch.optim.Optimizer | None = None) -> None:
    images = run.parts["train"].images
    checkpoint.save(path, run.config, run.vocabulary, images.width, images.kind, run.model, progress, optimiser)


def _described(run: Run) -> str:
    train, c = run.parts["train"], run.config
    numbers = sum(p.numel() for p in run.model.parameters())
    return (
        f"{c.data.name}: {len(train.captions):,} training captions, {len(run.vocabulary.words):,} words; "
        f"{c.model.image} and {c.model.text}, {numbers:,} weights; loss {c.loss.name}; "
        f"{run.loader.steps:,} steps of {min(c.train.batch, len(train.captions)):,} pairs an epoch on {run.device}"
    )


def _shown(report: Report, name: str) -> str:
    return " / ".join(printed(r.value, r.unit) for r in report.results if str(r.metric) == name)


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def _to(batch: dict[str, Any], device: torch.device) -> dict[str, Any]:
    """The tensors on a device; lengths stay on the CPU, where packing needs them."""
    return {k: v.to(device) if isinstance(v, torch.Tensor) and k != "lengths" else v for k, v in batch.items()}
