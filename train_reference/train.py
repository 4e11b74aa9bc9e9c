"""Training, from top to bottom: ``train`` is the outline, and what it calls follows in the order of the calls.

``prepare`` makes the data, the model, the loss and the optimiser of a configuration. An epoch takes a step of Adam for
every batch of pairs (``step``), evaluates the validation part with ``vsebench.evaluate`` (``validate``) and writes
``last.safetensors``; the best epoch is kept in ``best.safetensors``. At the end the best model encodes the test part
into ``embeddings.npz``, which ``vsebench eval`` reads.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import vsebench as vb
from vsebench.errors import BadInput, Diverged, UsageError, count_of, printable
from vsebench.files.atomic import make_folder, write_atomically
from vsebench.files.lock import locked
from vsebench.files.run_folder import ABOUT, LAST, RESULT
from vsebench.options import spell
from vsebench.pretrained.device import device_of
from vsebench.relevance.sources import LABELS
from vsebench.results.format import printed
from vsebench.results.report import Report

from . import checkpoint, encode, parallel
from .checkpoint import BEST, Progress
from .config import Config, override
from .data import Bar, Loader, Part, PartName, Vocabulary, no_bar, open_data, vocabulary_of

from .data import degrees, nearest, relevance_of  # isort: skip
from .encoders import get_encoder
from .losses import Loss, get_loss
from .losses.checks import checked_loss
from .model import NO_TEXT, DualEncoder, build, groups, scores, trunk_is_trained
from .own_file import fingerprint, label

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
    vocabulary: Vocabulary
    device: torch.device

    def save(self, path: Path, progress: Progress, optimiser: torch.optim.Optimizer | None = None) -> None:
        """Write a checkpoint; raises DiskError."""
        images = self.parts["train"].images
        checkpoint.save(
            path, self.config, self.vocabulary, images.width, images.kind, self.model, progress, optimiser
        )  # fmt: skip

    def load(self, path: Path) -> checkpoint.Checkpoint:
        """Give the model the weights of a checkpoint of this run; raises UsageError and BadInput for another one."""
        found, images = checkpoint.read(path), self.parts["train"].images
        found.check_same(self.config)
        if (found.vocabulary, found.width, found.kind) != (self.vocabulary, images.width, images.kind):
            fix = f"give the data of that run, or another {spell('out')}"
            raise BadInput("was trained on other data", where=path, fix=fix)
        found.load_into(self.model)
        return found


def run(
    config: Config, out: Path | None = None, *, resume: bool = False, say: Say = print, bar: Bar = no_bar
) -> tuple[Report | None, Path]:
    """Train in all processes of ``torchrun``, of which the first one alone writes and says anything.

    Returns:
        The report, which is None in all processes but the first, and the folder of the run: ``out``, else
        ``runs/DATA-LOSS-seedN``.

    Raises:
        UsageError, BadInput, MissingPackage, DiskError, Diverged: as ``train``.
    """
    folder = (out or default_folder(config)).expanduser()
    if folder.exists() and not folder.is_dir():
        raise UsageError("is a file", where=folder, fix=f"give the folder of the run with {spell('out')}")
    parallel.start()
    try:
        if not parallel.is_first():
            train(config, folder, resume=resume, say=no_say)
            return None, folder
        if resume and not (folder / LAST).exists():
            say(f"there is no run in {printable(str(folder))} to resume: it begins")
        return train(config, folder, resume=resume, say=say, bar=bar), folder
    finally:
        parallel.stop()


def default_folder(config: Config) -> Path:
    """The folder of a run for which none is named: ``runs/DATA-LOSS-seedN``."""
    data = Path(config.data.name).stem or "data"
    return Path("runs") / f"{data}-{label(config.loss.name)}-seed{config.train.seed}"


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
    with _folder(out):
        run = prepare(config, bar)
        progress = begin(run, out, resume, say)
        last = run.config.train.epochs
        while progress.epoch < last and not stopped(run.config, progress):
            started = time.monotonic()
            schedule(run, progress.epoch)
            with bar(f"this epoch, {progress.epoch + 1} of {last}") as update:
                mean = epoch(run, progress, update)
            said = validate(run, out, progress, mean)
            seconds = time.monotonic() - started
            left = seconds * (last - progress.epoch)
            shown = f"{left:.0f} s" if left < 100 else f"{left / 60:.0f} min"
            say(f"epoch {progress.epoch:>3}: loss {mean:.3f}, {said}, {seconds:.0f} s, about {shown} left in all")
            if progress.epoch == run.config.loss.warmup + 1 > 1:
                say("the warm-up is over: the best epoch is chosen from this one on")
        if stopped(run.config, progress):
            say(f"stopped: no better {run.config.train.select} in {count_of(run.config.train.patience, 'epoch')}")
        return finish(run, out, progress, metrics, say)


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


def prepare(config: Config, bar: Bar = no_bar) -> Run:
    """Open the data, and make the model, its optimiser and the batches; raises as ``train``."""
    c, t = config, config.train
    config = override(
        c, loss_fingerprint=fingerprint(c.loss.name), model_fingerprint=fingerprint(c.model.image, c.model.text)
    )
    if t.threads:
        torch.set_num_threads(t.threads)
    if t.deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it torch refuses products on a GPU
    torch.use_deterministic_algorithms(t.deterministic)
    torch.utils.deterministic.fill_uninitialized_memory = False  # nothing here reads such memory; 40 % of a step
    device = torch.device(device_of(t.device))
    check_pooling(config, device)
    checkpoint.require()
    loss = checked_loss(config.loss)
    check_sides(config, loss)

    parts = parallel.first_before_others(lambda: open_data(config, bar))
    check_select(config, parts["val"])
    captions = () if config.model.text == NO_TEXT else parts["train"].captions
    vocabulary = vocabulary_of(captions, config.data.word_count) if captions else Vocabulary(())
    torch.manual_seed(t.seed)
    images = parts["train"].images
    model = build(config, images.kind, images.width, len(vocabulary.words)).to(device)
    model.begin(loss.settings | config.loss.settings)
    if not trunk_is_trained(config) and config.model.crop != "random":
        parts = parallel.first_before_others(lambda: encode.with_features(model, parts, bar))
    loader = batches(config, loss, parts["train"], vocabulary, bar)
    optimiser = torch.optim.Adam(groups(model, config), lr=t.lr, weight_decay=t.weight_decay)
    parallel.check(t.batch, min(t.batch - config.loss.neighbours, loader.items), device)
    return Run(config, model, optimiser, loss, loader, parts, vocabulary, device)


def check_pooling(config: Config, device: torch.device) -> None:
    """Refuse a network whose pooling has no deterministic gradient on a GPU: it may be trained from a late epoch on."""
    pooling = trunk_is_trained(config) and get_encoder(config.model.image).pooling
    if pooling and config.train.deterministic and device.type == "cuda":
        what = f"torch has no deterministic gradient of the pooling of {config.model.image} on a GPU"
        raise UsageError(f"train.deterministic is true, and {what}", fix="add --set train.deterministic=false")


def check_sides(config: Config, loss: Loss) -> None:
    """Refuse a model of images alone with a loss of pairs, and label distances of images for one of captions."""
    alone, labels = config.model.text == NO_TEXT, config.loss.relevance == LABELS
    if alone != labels:
        what = f"model.text is '{config.model.text}', and loss.relevance '{config.loss.relevance}'"
        fix = f"give both, {NO_TEXT} and {LABELS}, as --config scenes/log_ratio,images does, or neither"
        raise UsageError(what, fix=fix)
    if not alone:
        return
    if loss.degree != "label":
        fix = "give a loss on label distances: log_ratio, dense_triplet or nearest_triplet"
        raise UsageError(f"model.text is '{NO_TEXT}', and loss '{loss.name}' is of pairs with captions", fix=fix)
    given = {
        "model.similarity=order": config.model.similarity == "order",
        "loss.warmup": config.loss.warmup,
        "loss.degree_of=caption": config.loss.degree_of == "caption",
        "data.first": config.data.first < 1,
    }
    for name in (name for name, there in given.items() if there):
        raise UsageError(f"{name} has no meaning for images alone", fix="leave it out")


def check_select(config: Config, part: Part) -> None:
    """Refuse a selecting metric that is none, or that the validation part does not have, by evaluating noise.

    Raises:
        UsageError, MissingPackage: as ``vsebench.evaluate``.
    """
    name, alone = config.train.select, config.model.text == NO_TEXT
    try:
        known = str(vb.parse(name))
    except UsageError as error:
        raise UsageError(f"train.select: {error.what}", fix=error.fix) from error
    if known != name:
        raise UsageError(f"train.select is '{name}'", fix=f"write {known}")
    if name != "RSum" or alone:
        rng, split = np.random.default_rng(0), part.split
        images, texts = (rng.standard_normal((len(ids), 4), np.float32) for ids in (split.image_ids, split.caption_ids))
        noise = {"images": images, "texts": texts, "split": split}
        selecting(encode.evaluate(encode.of_images(images, part, config) if alone else noise, name), name)


def batches(config: Config, loss: Loss, part: Part, vocabulary: Vocabulary, bar: Bar) -> Loader:
    """The batches of the training part; with a degree where the loss takes one."""
    degree = near = None
    t, alone = config.train, config.model.text == NO_TEXT
    image_of = np.arange(len(part.images)) if alone else part.split.owners
    if loss.needs_degree or config.loss.neighbours:
        with bar(f"relevance of the training captions ({config.loss.relevance})") as update:
            tell = None if update is None else lambda share: update(round(1000 * share), 1000)
            relevance = relevance_of(config.loss, part, tell)
        degree = degrees(relevance, config.loss) if loss.needs_degree else None
        if config.loss.neighbours:
            near = nearest(relevance, image_of, config.loss.degree_of, t.batch // 2 if alone else None)
    words = None if alone else vocabulary.encode(part.captions)
    return Loader(part, words, t.batch, t.seed, degree, config.loss.neighbours, near, parallel.count())


def begin(run: Run, out: Path, resume: bool, say: Say) -> Progress:
    """The progress of a new run, or of a resumed one, whose model and optimiser get the state of its last epoch."""
    last, config = out / LAST, run.config
    if not last.exists():
        numbers = sum(p.numel() for p in run.model.parameters())
        if run.model.captions is None:
            items, pairs, networks = "images", "images", config.model.image
        else:
            items, pairs = f"captions, {len(run.vocabulary.words):,} words", "pairs"
            networks = f"{config.model.image} and {config.model.text}"
        say(
            f"{config.data.name}: {run.loader.items:,} training {items}; "
            f"{networks}, {numbers:,} weights; loss {config.loss.name}; "
            f"{run.loader.steps:,} steps of {min(config.train.batch, run.loader.items):,} {pairs} an epoch "
            f"on {run.device}"
        )
        if run.loss.needs_degree and config.loss.scale != 1:
            say(f"the degree of a pair is {config.loss.scale:g} times its gain ({config.loss.relevance})")
        return Progress()
    if not resume:
        fix = f"add {spell('resume', True)} to continue it, or choose another folder"
        raise UsageError("holds a run already", where=out, fix=fix)
    found = run.load(last)
    found.restore(run.optimiser)
    say(f"resumed after epoch {found.progress.epoch} of {config.train.epochs}")
    if found.progress.epoch < config.train.epochs and parallel.is_first():
        for name in (ABOUT, RESULT):  # of the epochs so far
            (out / name).unlink(missing_ok=True)
    return found.progress


def stopped(config: Config, progress: Progress) -> bool:
    """Whether ``train.patience`` ends a run; decided by its checkpoint alone, so that a resumed run decides alike."""
    begun = max(progress.best_epoch, config.loss.warmup, config.train.finetune_from)
    return 0 < config.train.patience <= progress.epoch - begun


def schedule(run: Run, epoch: int) -> None:
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


def epoch(run: Run, progress: Progress, update: Callable[[int, int], None] | None = None) -> float:
    """All steps of an epoch; returns the mean loss of a pair."""
    total, steps = 0.0, run.loader.steps
    for n, batch in enumerate(run.loader(progress.epoch), start=1):
        total += step(run, batch, progress.epoch, n)
        progress.step += 1
        if update is not None:
            update(n, steps)
    return total / steps


def step(run: Run, batch: dict[str, Any], epoch: int, number: int = 1) -> float:
    """One step of the optimiser, the one of this number in its epoch; returns the loss of the batch a pair.

    Raises:
        Diverged: the loss or its gradient is not a finite number; the weights are left as they were.
    """
    config, mixed = run.config, run.config.train.precision == "bf16"
    run.model.train()
    run.optimiser.zero_grad(set_to_none=True)
    mine = {k: v.to(run.device) if isinstance(v, torch.Tensor) and k != "lengths" else v
            for k, v in parallel.slice_of(batch).items()}  # fmt: skip
    with torch.autocast(run.device.type, torch.bfloat16) if mixed else nullcontext():
        encoded = run.model(mine)
    sides = [parallel.gathered(side.float() if mixed else side) for side in encoded]
    rows, columns = sides if len(sides) == 2 else sides[0].chunk(2)  # of images alone: anchors and candidates
    s = scores(rows, columns, config.model)
    total = loss_of(run, s, batch, epoch)
    value = float(total.detach())
    _check_finite("loss", value, run, batch, epoch, number)
    total.backward()
    parallel.add_gradients(run.model)
    if config.train.clip:
        norm = nn.utils.clip_grad_norm_(run.model.parameters(), config.train.clip)
        _check_finite("norm of the gradient", float(norm), run, batch, epoch, number)
    run.optimiser.step()
    return value / len(s)


def loss_of(run: Run, s: torch.Tensor, batch: dict[str, Any], epoch: int) -> torch.Tensor:
    """The loss of the scores (b, b) of a batch; the sum of hinges in the epochs of the warm-up."""
    settings = run.config.loss
    positive = batch["positive"].to(s.device)
    if not settings.mask_same_image:
        positive = torch.eye(len(s), dtype=torch.bool, device=s.device)
    if epoch < settings.warmup:
        function, given = get_loss("sh").function, {k: v for k, v in settings.settings.items() if k == "margin"}
    else:
        function, given = run.loss.function, {**settings.settings, **run.model.hyper_parameters()}
        if run.loss.needs_degree:
            given["degree"] = batch["degree"].to(s.device)
    total: torch.Tensor = function(s, positive, **given)
    return total


def _check_finite(name: str, value: float, run: Run, batch: dict[str, Any], epoch: int, number: int) -> None:
    """Raise Diverged, with the step and the ids of its batch, where a value is not a finite number."""
    if not math.isfinite(value):
        split, sides = run.parts["train"].split, "images" if run.loader.words is None else "captions"
        named = split.image_ids if sides == "images" else split.caption_ids
        ids = ", ".join(map(str, named[batch["items"]][:5].tolist()))
        what = f"the {name} is {value} in epoch {epoch + 1}, step {number}, in the batch of {sides} {ids}, ..."
        raise Diverged(what, fix="lower the learning rate, or check the features of these images")


def validate(run: Run, out: Path, progress: Progress, mean: float) -> str:
    """Evaluate the validation part after an epoch, and write its checkpoints and its line of the log.

    Returns:
        The selecting metric, for reading.
    """
    name = run.config.train.select
    more = "" if run.model.captions is None or name == "RSum" else "recall,"
    report = evaluate(run, "val", more + ("recall" if name == "RSum" else name))[0]
    value = selecting(report, name)
    values = {key: round(found, 6) for key, found in report.to_dict(prefix="").items()}
    rate = run.optimiser.param_groups[0]["lr"]
    progress.epoch += 1
    progress.log.append({"epoch": progress.epoch, "loss": mean, "lr": rate, **values})
    if progress.epoch == run.config.loss.warmup + 1:
        progress.best = None  # the best epoch is one of the loss itself, where it has any
    better = progress.best is None or value > progress.best
    if better:
        progress.best, progress.best_epoch = value, progress.epoch
    if parallel.is_first():
        if better:
            run.save(out / BEST, progress)
        run.save(out / LAST, progress, run.optimiser)
        with write_atomically(out / LOG, "w") as stream:  # complete, also of a resumed run
            stream.writelines(json.dumps(line) + "\n" for line in progress.log)
    shown = " / ".join(printed(r.value, r.unit) for r in report.results if str(r.metric) == name)
    return f"{name} {shown}{' (best)' if better else ''}"


def selecting(report: Report, name: str) -> float:
    """A metric, or the mean of its two directions, such that larger is better."""
    found = [result for result in report.results if str(result.metric) == name]
    if not found:
        raise UsageError(f"train.select is '{name}'", fix="give one metric, such as RSum or cider:NCS@10")
    mean = sum(result.value for result in found) / len(found)
    return mean if found[0].higher_is_better else -mean


def evaluate(run: Run, part: PartName, metrics: str | None) -> tuple[Report, dict[str, Any]]:
    """The report of a part: some metrics without intervals, or all headline ones (None); and what was evaluated.

    The first process encodes and ranks; the others get its report.
    """
    found: dict[str, Any] = {}

    def measured() -> Report:
        found.update(encode.embeddings(run.model, run.vocabulary, run.parts[part], run.config))
        return encode.evaluate(found, metrics)

    return parallel.of_first(measured), found


def finish(run: Run, out: Path, progress: Progress, metrics: str | None, say: Say) -> Report:
    """Encode the test part with the best epoch, and evaluate it."""
    parallel.of_first(lambda: None)  # it may still write that epoch
    if progress.best_epoch:
        run.load(out / BEST)
    elif parallel.is_first():
        run.save(out / BEST, progress)
    report, found = evaluate(run, "test", metrics)
    if parallel.is_first():
        encode.write(found, run.parts["test"], run.config, out)
        report.save(str(out / RESULT))
    say(f"best epoch {progress.best_epoch} of {progress.epoch}; test part of {run.config.data.name} in {out / RESULT}")
    return report
