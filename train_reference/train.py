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
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

import vsebench as vb
from vsebench.errors import BadInput, Diverged, UsageError, count_of, printable
from vsebench.files.atomic import locked, make_folder, write_atomically
from vsebench.files.regular import ABOUT, LAST, RESULT, expanded
from vsebench.files.weights import Weights, check_vectors, of_each_length
from vsebench.log import logged
from vsebench.options import spell
from vsebench.pretrained.device import device_of
from vsebench.results.model import printed
from vsebench.results.report import Report

from . import checkpoint, encode, parallel
from .checkpoint import BEST, FREE, Checkpoint, Log, check_same, tensors_of
from .config import Config, fingerprinted
from .data import (
    SPECIAL,
    Bar,
    Loader,
    Part,
    PartName,
    Vocabulary,
    identity,
    no_bar,
    padded,
    relevance_of,
    vocabulary_of,
    words_of,
)
from .encoders import get_encoder
from .loss_checks import check_total, checked_loss
from .losses import Loss, get_loss
from .model import NO_TEXT, DualEncoder, build, groups, scores, trunk_is_trained
from .own_file import faults_of, file_of, label, spelled
from .sources import open_data

Say = Callable[[str], None]
LOG = "log.jsonl"
EQUAL = "equal_scores"  # in the log, of an epoch after which all scores are nearly equal
NEARLY = 0.1  # share of the margin, or of the loss of equal scores
FEW = 200  # images and captions whose scores are looked at
MANY_UNKNOWN = 0.2  # share of words without a vector that is told


def no_say(text: str) -> None:
    """No notes: those of several processes would be mixed."""


@dataclass(frozen=True, eq=False)
class Run:
    """Everything that a step needs; and the log, which has a dictionary for every epoch that is finished."""

    config: Config
    model: DualEncoder
    optimiser: torch.optim.Optimizer
    loss: Loss
    loader: Loader
    parts: dict[PartName, Part]
    data: str
    vocabulary: Vocabulary
    device: torch.device
    log: Log = field(default_factory=list)

    def save(self, path: Path, optimiser: torch.optim.Optimizer | None = None) -> None:
        """Write a checkpoint, with the state of an optimiser one to resume from; raises DiskError."""
        images, tensors = self.parts["train"].images, tensors_of(self.model, optimiser)
        found = Checkpoint(self.config, self.vocabulary, images.width, images.kind, self.data, self.log, tensors)
        checkpoint.save(found, path)

    def load(self, path: Path) -> Checkpoint:
        """Give the model the weights of a checkpoint of this run; raises UsageError and BadInput for another one."""
        found = checkpoint.read(path)
        check_same(found.config, self.config, path.parent, FREE)
        if (found.data, found.vocabulary) != (self.data, self.vocabulary):
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
    folder = expanded(out or default_folder(config))
    parallel.start()
    try:
        first = parallel.is_first()
        report = train(config, folder, resume=resume, say=say if first else no_say, bar=bar if first else no_bar)
        return report if first else None, folder
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
        DiskError: the folder cannot be made, or another process is training in it; a checkpoint cannot be written, and
            the one before it is left as it was.
    """
    if out.is_file():
        raise UsageError("is a file", where=out, fix=f"give the folder of the run with {spell('out')}")
    with logged() as log:
        run = prepare(config, bar)
    make_folder(out)
    with locked(out / ".lock", "this folder is used") if parallel.is_first() else nullcontext():
        begin(run, out, resume, say)
        for sentence in log.notes:
            say(sentence)
        while not finished(run):
            started = time.monotonic()
            schedule(run, len(run.log))
            loss = epoch(run, bar)
            said = validate(run, loss, started)
            keep(run, out)
            say(said)
            if [EQUAL in line for line in run.log[-3:]] in ([True, True], [False, True, True]):
                say(plateau(run))
            if len(run.log) == run.config.loss.warmup + 1 > 1:
                say("the warm-up is over: the best epoch is chosen from this one on")
        return finish(run, out, metrics, say)


def prepare(config: Config, bar: Bar = no_bar) -> Run:
    """Open the data, and make the model, its optimiser and the batches; raises as ``train``."""
    config = fingerprinted(config)
    t, alone = config.train, config.model.text == NO_TEXT
    if t.threads:
        torch.set_num_threads(t.threads)
    if t.deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it torch refuses products on a GPU
    torch.use_deterministic_algorithms(t.deterministic)
    torch.utils.deterministic.fill_uninitialized_memory = False  # nothing here reads such memory; 40 % of a step
    device = torch.device(device_of(t.device))
    check_pooling(config, device)
    checkpoint.require()
    loss = checked_loss(config)

    parts = parallel.first_before_others(lambda: open_data(config, bar))
    data = identity(parts)
    vocabulary = Vocabulary(()) if alone else vocabulary_of(parts["train"].captions, config.data.word_count)
    torch.manual_seed(t.seed)
    images = parts["train"].images
    model = build(config, images.kind, images.width, len(vocabulary.words)).to(device)
    if file_of(config.model.image) or file_of(config.model.text):
        check_encoders(config, model, parts["train"], vocabulary)
    model.begin(loss.settings | config.loss.settings)
    if not trunk_is_trained(config):
        parts = parallel.first_before_others(lambda: encode.with_features(model, parts, bar))
    loader = batches(config, loss, parts["train"], vocabulary, bar)
    optimiser = torch.optim.Adam(groups(model, config), lr=t.lr, weight_decay=t.weight_decay)
    parallel.check(t.batch, min(t.batch - config.loss.neighbours, loader.items), device, alone)
    run = Run(config, model, optimiser, loss, loader, parts, data, vocabulary, device)
    if t.select != "RSum" or alone:
        evaluate(run, "val", t.select)  # the part may not have this metric
    return run


@torch.no_grad()
def check_encoders(config: Config, model: DualEncoder, part: Part, vocabulary: Vocabulary) -> None:
    """Embed two items, then a few together and alone, so that faults are found before anything is computed.

    Random numbers stay as they are. Raises BadInput for embeddings that depend on the other items of a batch.
    """
    loader = Loader(part, None if model.captions is None else vocabulary.encode(part.captions), config)
    batch, device = loader.make(np.array([0, loader.items - 1])), model.images.project.weight.device

    def images(rows: list[int]) -> npt.NDArray[Any]:
        given = on_device(part.images.take(np.array(rows)), device)
        found: npt.NDArray[Any] = model.images(**given).float().cpu().numpy()
        return found

    def captions(words: list[list[int]]) -> npt.NDArray[Any]:
        assert model.captions is not None
        numbers, lengths = padded(words)
        found: npt.NDArray[Any] = model.captions(numbers.to(device), lengths).float().cpu().numpy()
        return found

    model.eval()
    some = np.unique(np.linspace(0, len(part.images) - 1, 5).astype(int)).tolist()
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        model(on_device(batch, device))
        fix = "let its network ignore the other images of a batch, and regions that the mask leaves out"
        check_vectors(images, some, Weights(), f"encoder '{config.model.image}'", fix=fix)
        if model.captions is not None:
            fix = "let its network ignore the other captions of a batch, and word vectors behind lengths"
            words = vocabulary.encode(of_each_length(part.captions))
            check_vectors(captions, words, Weights(), f"encoder '{config.model.text}'", fix=fix)


def check_pooling(config: Config, device: torch.device) -> None:
    """Refuse a network whose pooling has no deterministic gradient on a GPU: it may be trained from a late epoch on."""
    pooling = trunk_is_trained(config) and get_encoder(config.model.image).pooling
    if pooling and config.train.deterministic and device.type == "cuda":
        what = f"torch has no deterministic gradient of the pooling of {config.model.image} on a GPU"
        raise UsageError(f"train.deterministic is true, and {what}", fix=f"add {spelled('train.deterministic', False)}")


def batches(config: Config, loss: Loss, part: Part, vocabulary: Vocabulary, bar: Bar) -> Loader:
    """The batches of the training part; with a degree where the loss takes one."""
    relevance = None
    if loss.needs_degree or config.loss.neighbours:
        with bar(f"relevance of the training captions ({config.loss.relevance})"):
            relevance = relevance_of(config.loss, part)
    words = None if config.model.text == NO_TEXT else vocabulary.encode(part.captions)
    return Loader(part, words, config, relevance, loss.needs_degree, parallel.count())


def begin(run: Run, out: Path, resume: bool, say: Say) -> None:
    """Say what is trained; of a run that is resumed, take the state of the last epoch.

    Raises:
        UsageError: the folder has a run, and ``resume`` is not given, or one of other settings, or of more epochs.
        BadInput: its checkpoint is damaged, or of other data.
    """
    config = run.config
    there = parallel.of_first(lambda: [name for name in (LAST, BEST, RESULT) if (out / name).exists()])
    if there and not resume:
        fix = f"add {spell('resume', True)} to continue it, or choose another folder"
        raise UsageError("holds a run already", where=out, fix=fix)
    if LAST in there:
        found = run.load(out / LAST)
        if (made := len(found.log)) > config.train.epochs:
            what = f"has {count_of(made, 'epoch')}, and train.epochs is {config.train.epochs}"
            raise UsageError(what, where=out, fix=f"give at least {made}, or another folder")
        found.restore(run.optimiser)
        run.log.extend(found.log)
        say(f"resumed after epoch {len(run.log)} of {config.train.epochs}")
        if not finished(run) and parallel.is_first():
            for name in (ABOUT, RESULT):  # of the epochs so far
                (out / name).unlink(missing_ok=True)
        return
    if resume:
        if BEST in there:  # of an untrained model, or of an epoch that was not finished
            check_same(checkpoint.read(out / BEST).config, config, out, FREE)
        say(f"there is no run in {printable(str(out))} to resume: it begins")
    items, pairs, networks = f"captions, {len(run.vocabulary.words):,} words", "pairs", f" and {config.model.text}"
    if run.model.captions is None:
        items, pairs, networks = "images", "images", ""
    weights = sum(p.numel() for p in run.model.parameters())
    steps, pairs = count_of(run.loader.steps, "step"), f"{min(config.train.batch, run.loader.items):,} {pairs}"
    say(
        f"{config.data.name}: {run.loader.items:,} training {items}; "
        f"{config.model.image}{networks}, {weights:,} weights; loss {config.loss.name}; "
        f"{steps} of {pairs} an epoch on {run.device}"
    )
    if run.loss.needs_degree and config.loss.scale != 1:
        say(f"the degree of a pair is {config.loss.scale:g} times its gain ({config.loss.relevance})")
    if unknown := unknown_words(run):
        say(unknown)
    if 0 < config.train.epochs <= config.loss.warmup:
        say(f"the run ends in its warm-up (loss.warmup = {config.loss.warmup}): loss {config.loss.name} is never used")


def unknown_words(run: Run) -> str:
    """A sentence if many words of the validation captions have no vector, else empty."""
    known, words = {*run.vocabulary.words}, words_of(run.parts["val"].captions) if run.model.captions else []
    of_known = [word in known for each in words for word in each]
    share = 1 - float(np.mean(of_known)) if of_known else 0.0
    if share <= MANY_UNKNOWN:
        return ""
    length, letters = np.mean([len(each) for each in words]), np.mean([len(word) for each in words for word in each])
    every = spelled("data.word_count", 1)
    few = "" if run.config.data.word_count == 1 else f"; with {every} every training word has one"
    return (
        f"{share:.0%} of the words of the validation captions have no vector: the vocabulary has "
        f"{len(known) - len(SPECIAL):,} words. These captions have {length:.1f} words of {letters:.1f} letters: put "
        f"spaces between words if there are none{few}"
    )


def finished(run: Run) -> bool:
    """Whether there is no further epoch; decided by the log, so that a resumed run decides alike."""
    t, loss = run.config.train, run.config.loss
    begun = max(best_epoch(run.config, run.log), loss.warmup, t.finetune_from)
    return len(run.log) >= t.epochs or 0 < t.patience <= len(run.log) - begun


def best_epoch(config: Config, log: Log) -> int:
    """The first epoch with the best value of ``train.select``, from 1; 0 without epochs.

    It is one after the warm-up, where there are any. Of a metric with two directions the mean counts. Raises Diverged
    where no value is a number.
    """
    if not log:
        return 0
    name, after = config.train.select, config.loss.warmup if len(log) > config.loss.warmup else 0
    sign = 1 if vb.parse(name).higher_is_better else -1
    values = [[v for key, v in line.items() if key == name or key.startswith(f"{name} ")] for line in log[after:]]
    means = sign * np.mean(values, axis=1)
    if np.isnan(means).all():
        what = f"{name} of the validation part is not a number"
        raise Diverged(what, fix="lower the learning rate, or check that this metric is defined for these data")
    return after + 1 + int(np.nanargmax(means))


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


def epoch(run: Run, bar: Bar = no_bar) -> float:
    """All steps of the next epoch; returns the mean loss of a pair."""
    done, steps, total = len(run.log), run.loader.steps, 0.0
    with bar(f"this epoch, {done + 1} of {run.config.train.epochs}") as update:
        for n, batch in enumerate(run.loader(done), start=1):
            total += step(run, batch, done, n)
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
    mine = on_device(parallel.slice_of(batch), run.device)
    with torch.autocast(run.device.type, torch.bfloat16) if mixed else nullcontext():
        encoded = run.model(mine)
    sides = [parallel.gathered(side.float() if mixed else side) for side in encoded]
    rows, columns = sides if len(sides) == 2 else sides[0].chunk(2)  # of images alone: anchors and candidates
    s = scores(rows, columns, config.model)
    total = loss_of(run, s, batch, epoch)
    total.backward()
    parallel.add_gradients(run.model)
    norm = float(nn.utils.clip_grad_norm_(run.model.parameters(), config.train.clip or math.inf))
    value = float(total.detach())
    for what, found in (("loss", value), ("norm of the gradient", norm)):
        if not math.isfinite(found):
            what = f"the {what} is {found} in epoch {epoch + 1}, step {number}, in the batch of {_named(run, batch)}"
            raise Diverged(what, fix="lower the learning rate, or check the features of these images")
    run.optimiser.step()
    run.model.limit()
    return value / len(s)


def on_device(batch: dict[str, Any], device: torch.device) -> dict[str, Any]:
    """A batch as the model takes it on a device; lengths of captions stay on the CPU."""
    return {k: v.to(device) if isinstance(v, torch.Tensor) and k != "lengths" else v for k, v in batch.items()}


def loss_of(run: Run, s: torch.Tensor, batch: dict[str, Any], epoch: int) -> torch.Tensor:
    """The loss of the scores (b, b) of a batch, in the warm-up the sum of hinges; UsageError for faults of a file."""
    settings = run.config.loss
    positive = batch["positive"].to(s.device)
    if not settings.mask_same_image:
        positive = torch.eye(len(s), dtype=torch.bool, device=s.device)
    if epoch < settings.warmup:
        loss, given = get_loss("sh"), {k: v for k, v in settings.settings.items() if k == "margin"}
    else:
        loss, given = run.loss, {**settings.settings, **run.model.hyper_parameters()}
        if run.loss.needs_degree:
            given["degree"] = batch["degree"].to(s.device)
    with faults_of(loss.name, f"correct the function; it fails for a batch of {count_of(len(s), 'pair')}"):
        total: torch.Tensor = loss.function(s, positive, **given)
    if file_of(loss.name):
        check_total(loss, total)
    return total


def _named(run: Run, batch: dict[str, Any]) -> str:
    """The first ids of a batch, for a message."""
    split, alone = run.parts["train"].split, run.model.captions is None
    ids = (split.rows.ids if alone else split.columns.ids)[batch["items"][:5]]
    return f"{'images' if alone else 'captions'} {', '.join(map(str, ids.tolist()))}, ..."


def validate(run: Run, loss: float, started: float) -> str:
    """Evaluate the validation part after an epoch, and put it into the log.

    Args:
        run: with the weights of the epoch.
        loss: the mean of its steps.
        started: when it began, as of ``time.monotonic``.

    Returns:
        What is said of the epoch.
    """
    t, name, n = run.config.train, run.config.train.select, len(run.log) + 1
    report, found = evaluate(run, "val", name if run.model.captions is None else f"recall,{name}")
    equal = {EQUAL: True} if parallel.of_first(lambda: scores_are_equal(run, found, loss)) else {}
    rate, seconds = run.optimiser.param_groups[0]["lr"], time.monotonic() - started
    run.log.append({"epoch": n, "loss": loss, "lr": rate, "seconds": round(seconds, 1), **equal, **report.to_dict()})
    shown = " / ".join(printed(r.value, r.unit) for r in report.results if str(r.metric) == name)
    best = " (best)" if best_epoch(run.config, run.log) == n else ""
    left = seconds * (t.epochs - n)
    ahead = f"{left:.0f} s" if left < 100 else f"{left / 60:.0f} min"
    return f"epoch {n:>3}: loss {loss:.3f}, {name} {shown}{best}, {seconds:.0f} s, about {ahead} left in all"


def scores_are_equal(run: Run, found: dict[str, Any], loss: float) -> bool:
    """Whether an epoch ends where the hinge of the hardest negatives is twice the margin, because all scores are equal.

    Args:
        run: after the epoch.
        found: of the validation part, see ``encode.embeddings``.
        loss: the mean of the steps of the epoch.
    """
    given = {**run.loss.settings, **run.config.loss.settings, **run.model.hyper_parameters()}
    margin, of_equal = given.get("margin"), math.nan
    if run.loss.needs_degree or not isinstance(margin, (int, float)) or len(run.log) < run.config.loss.warmup:
        return False
    with suppress(UsageError), faults_of(run.loss.name, ""):
        of_equal = float(run.loss.function(torch.zeros(4, 4), torch.eye(4, dtype=torch.bool), **given)) / 4
    if not math.isclose(of_equal, 2 * margin, rel_tol=1e-3) or abs(loss - of_equal) > NEARLY * of_equal:
        return False
    if "scores" in found:
        return bool(np.std(found["scores"]) < NEARLY * margin)
    images, texts = (side[:: max(1, len(side) // FEW)] for side in (found["images"].vectors, found["texts"].vectors))
    return bool(np.std(images @ texts.T) < NEARLY * margin)


def plateau(run: Run) -> str:
    """The sentence for a run in which ``scores_are_equal``."""
    margin = {**run.loss.settings, **run.config.loss.settings}["margin"]
    longer = spelled("loss.warmup", run.config.loss.warmup + 2)
    return (
        f"all scores are nearly equal, and the loss is twice the margin ({2 * margin:g}): the hardest negatives teach "
        f"nothing here. Train again with {longer}, epochs of the sum of hinges, or with another loss"
    )


def keep(run: Run, out: Path) -> None:
    """Write the checkpoints after an epoch, and the log; raises DiskError."""
    if parallel.is_first():
        if best_epoch(run.config, run.log) == len(run.log):
            run.save(out / BEST)
        run.save(out / LAST, run.optimiser)
        with write_atomically(out / LOG, "w") as stream:  # complete, also of a resumed run
            stream.writelines(json.dumps(line) + "\n" for line in run.log)


def evaluate(run: Run, part: PartName, metrics: str | None) -> tuple[Report, dict[str, Any]]:
    """The report of a part: some metrics without intervals, or all headline ones (None); and what was evaluated.

    The first process encodes and ranks; the others get its report.
    """
    found: dict[str, Any] = {}

    def measured() -> Report:
        found.update(encode.embeddings(run.model, run.vocabulary, run.parts[part], run.config))
        return encode.evaluate(found, metrics)

    return parallel.of_first(measured), found


def finish(run: Run, out: Path, metrics: str | None, say: Say) -> Report:
    """Encode the test part with the best epoch, and evaluate it; raises BadInput where its file has another one."""
    c, made, best = run.config, len(run.log), best_epoch(run.config, run.log)
    if made < c.train.epochs:
        say(f"stopped: no better {c.train.select} in {count_of(c.train.patience, 'epoch')}")
    parallel.of_first(lambda: None)  # it may still write that epoch
    if best:
        stored = len(run.load(out / BEST).log)
        if stored != best:
            fix = f"train again, with another {spell('out')}"
            raise BadInput(f"is of epoch {stored}, not {best}", where=out / BEST, fix=fix)
    elif parallel.is_first():
        run.save(out / BEST)
    report, found = evaluate(run, "test", metrics)
    if EQUAL in (run.log or [{}])[-1]:
        report = replace(report, warnings=(plateau(run), *report.warnings))
    if parallel.is_first():
        encode.write(found, run.parts["test"], c, out)
        report.save(str(out / RESULT))
    say(f"best epoch {best} of {made}; test part of {c.data.name} in {out / RESULT}")
    return report
