"""Training, from top to bottom: ``train`` is the loop, and what it calls follows in the order of the calls.

An epoch takes a step of Adam for every batch of pairs, evaluates the validation part with ``vsebench.evaluate`` and
writes ``last.safetensors``; the best epoch is kept in ``best.safetensors``. At the end the best model encodes the test
part into ``embeddings.npz``, which ``vsebench eval`` reads.
"""

import json
import math
import os
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import vsebench as vb
from vsebench.errors import BadInput, Diverged, UsageError, count_of
from vsebench.files import lock, make_folder, write

from . import checkpoint, encode, parallel
from .checkpoint import BEST, FREE, LAST, Checkpoint, Log, check_same
from .config import LABELS, NONE, Config, fingerprinted
from .data import SPECIAL, Batch, Loader, Part, PartName, Words, identity, vocabulary_of
from .encode import on_device
from .losses import get_loss
from .model import DualEncoder, build, groups, scores
from .sources import open_data

Say = Callable[[str], None]
Record = Callable[[int, dict[str, Any]], None]  # a logger: of a step, values by name
LOG, RESULT, EMBEDDINGS = "log.jsonl", "result.json", "embeddings.npz"
EQUAL = "equal_scores"  # in the log, of an epoch that ends with nearly equal scores
NEARLY, MANY_UNKNOWN = 0.1, 0.2  # share of the margin that is nearly nothing; of words without a vector that is told


def silent(*said: Any) -> None:
    """Neither notes nor a logger."""


@dataclass(frozen=True, eq=False)
class Run:
    """Everything that a step needs; and the log, which has a dictionary for every epoch that is finished."""

    config: Config
    model: DualEncoder
    optimiser: torch.optim.Optimizer
    loader: Loader
    parts: dict[PartName, Part]
    data: str
    vocabulary: tuple[str, ...]
    device: torch.device
    log: Log = field(default_factory=list)

    @property
    def finished(self) -> bool:
        """Whether there is no further epoch; decided by the log, so that a resumed run decides alike."""
        t = self.config.train
        begun = max(best_epoch(self.config, self.log), self.config.loss.warmup, t.finetune_from)
        return len(self.log) >= t.epochs or 0 < t.patience <= len(self.log) - begun

    def save(self, path: Path, optimiser: torch.optim.Optimizer | None = None) -> None:
        """Write a checkpoint, with the state of an optimiser one to resume from; raises DiskError."""
        images = self.loader.part.images
        found = Checkpoint(self.config, self.vocabulary, images.width, images.kind, self.data, self.log, {})
        checkpoint.save(found, path, self.model, optimiser)

    def load(self, path: Path, optimiser: torch.optim.Optimizer | None = None) -> Checkpoint:
        """Take the state of a checkpoint of this run; raises UsageError and BadInput for another one."""
        found = checkpoint.read(path)
        check_same(found.config, self.config, path.parent, FREE)
        if (found.data, found.vocabulary) != (self.data, self.vocabulary):
            raise BadInput("was trained on other data", where=path, fix="give the data of that run, or another folder")
        found.load_into(self.model, optimiser)
        return found


def train(
    config: Config, out: Path, *, resume: bool = False, metrics: str | None = None, say: Say = print,
    log: Record = silent,
) -> vb.Report:  # fmt: skip
    """Train a model, and evaluate its best epoch on the test part.

    Args:
        out: the folder of the run: checkpoints, log, embeddings of the test part, and the report.
        resume: continue a run in this folder after its last finished epoch; the result has the same bits as that of an
            uninterrupted run. If there is nothing to resume, the run begins.
        metrics: of the test part, without intervals; None for the headline metrics with intervals.
        say: gets notes about the progress, a line each.
        log: ``log(step, values)`` gets epoch, loss and learning rate of every step, and after every epoch the values of
            the validation part.

    Raises UsageError (settings, another run), BadInput, MissingPackage (data), Diverged (loss), DiskError (folder).
    """
    parallel.start()
    if parallel.rank():  # the first process writes and says everything
        say, log = silent, silent
    run = prepare(config)
    steps = run.loader.steps
    make_folder(out)
    with nullcontext() if parallel.rank() else lock(out / ".lock", "this folder is used"):
        begin(run, out, resume, say)
        while not run.finished:
            epoch, started, total = len(run.log), time.monotonic(), 0.0
            rate = schedule(run, epoch)
            run.model.train()
            for number, batch in enumerate(run.loader(epoch), start=1):
                loss, spread = step(run, batch, epoch, number)
                log(epoch * steps + number, {"epoch": epoch + number / steps, "loss": loss, "lr": rate})
                total += loss
            line = {"epoch": epoch + 1, "loss": total / steps, "lr": rate, **stuck(run, total / steps, spread)}
            log((epoch + 1) * steps, validate(run, line, started, say))
            if parallel.rank() == 0:
                if best_epoch(run.config, run.log) == epoch + 1:
                    run.save(out / BEST)
                run.save(out / LAST, run.optimiser)
                with write(out / LOG, "w") as stream:  # complete, also of a resumed run
                    stream.writelines(json.dumps(line) + "\n" for line in run.log)
        return finish(run, out, metrics, say)


def prepare(config: Config) -> Run:
    """Open the data, and make the model, its optimiser and the batches; raises as ``train``."""
    device, config = check(config), fingerprinted(config)
    t = config.train
    torch.set_num_threads(t.threads or torch.get_num_threads())
    if t.deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it torch refuses products on a GPU
    torch.use_deterministic_algorithms(t.deterministic)
    torch.utils.deterministic.fill_uninitialized_memory = False  # nothing here reads such memory; 40 % of a step
    parallel.of_first(lambda: parallel.count() > 1 and len(open_data(config)))  # the others find what it has built
    parts = open_data(config)
    part, data = parts["train"], identity(parts)
    vocabulary = () if config.model.text == NONE else vocabulary_of(part.captions, config.data.word_count)
    torch.manual_seed(t.seed)
    model = build(config, part.images.kind, part.images.width, len(vocabulary)).to(device)
    if not config.model.trained and part.images.kind == "pixels":
        parts = {name: encode.frozen(model, each) for name, each in parts.items()}
    part = parts["train"]
    loader = Loader(part, Words(vocabulary, part.captions) if vocabulary else part.images, config, parallel.count())
    parallel.check(t.batch, min(t.batch - config.loss.neighbours, len(loader.second)), loader.unit)
    optimiser = torch.optim.Adam(groups(model), lr=t.lr, weight_decay=t.weight_decay)
    run = Run(config, model, optimiser, loader, parts, data, vocabulary, device)
    try_out(run)
    return run


def check(config: Config) -> torch.device:
    """The device; raises UsageError for settings that do not fit."""
    t, loss, device = config.train, config.loss, encode.device_of(config.train.device)
    if loss.neighbours >= t.batch:
        raise UsageError(f"loss.neighbours is {loss.neighbours}", fix=f"give less than train.batch, {t.batch}")
    alone, of_labels = config.model.text_encoder is None, loss.entry.degree == "label" and not loss.warmup
    if alone != (loss.relevance == LABELS) or (alone and not of_labels):
        what = f"model.text is '{config.model.text}', loss.relevance '{loss.relevance}', and the loss {loss.name}"
        raise UsageError(
            what, fix="for images alone use none, labels and log_ratio, as in --config scenes/log_ratio,images"
        )
    if config.model.trained and config.model.image_encoder.pooling and t.deterministic and device.type == "cuda":
        what = f"torch has no deterministic gradient of the pooling of {config.model.image} on a GPU"
        raise UsageError(f"train.deterministic is true, and {what}", fix="set train.deterministic=false")
    return device


def try_out(run: Run) -> None:
    """Compute a batch, its embeddings together and alone, the loss of equal scores, and the metric that selects the
    epoch, of random vectors: raises UsageError or BadInput before training for what cannot be computed."""
    config, loader, val, state = run.config, run.loader, run.parts["val"], torch.get_rng_state()
    run.model.eval()
    sides = {
        "image": (run.model.images, loader.part.images),
        "text": (run.model.captions or run.model.images, loader.second),
    }
    for name, (encoder, items) in sides.items() if config.model.fingerprint else ():
        some = np.linspace(0, len(items) - 1, 3).astype(np.int64)
        with torch.no_grad():
            found = [encoder(**on_device(items.take(rows), run.device)) for rows in (some, *some[:, None])]
        if not torch.allclose(found[0], torch.cat(found[1:]), atol=1e-4, rtol=1e-3):
            fix = "make the network ignore other items, masked regions and words after lengths"
            raise BadInput(f"embeddings of model.{name} depend on the other items of a batch", fix=fix)
    batch = loader.make(next(loader.order(0)))
    s = torch.zeros(batch["positive"].shape, device=run.device, requires_grad=True)
    try:
        total = loss_of(run, s, batch, config.loss.warmup)
    except TypeError as error:
        if config.loss.fingerprint:
            raise
        raise UsageError(f"loss '{config.loss.name}' fails: {error}", fix="check loss.settings") from error
    if not isinstance(total, torch.Tensor) or total.ndim or not total.requires_grad or total.isnan():
        fix = "return a scalar tensor that depends on the scores, and check loss.settings"
        raise UsageError(f"loss '{config.loss.name}' is {total!r:.60}", fix=fix)
    torch.set_rng_state(state)
    x, y = (np.random.default_rng(0).standard_normal((n, 4), np.float32) for n in val.split.shape)
    pairs = {"split": val.split, "images": x, "texts": y}
    images = {"vectors": x, "labels": val.labels, "label_distance": val.distance}
    encode.evaluate(pairs if run.model.captions else images, config.train.select)


def begin(run: Run, out: Path, resume: bool, say: Say) -> None:
    """Say what is trained, or take the state of the last epoch of a run that is resumed; raises UsageError and BadInput
    for a folder with a run that is not resumed, of other settings or data, of more epochs, or damaged."""
    config, loader = run.config, run.loader
    there = parallel.of_first(lambda: [name for name in (LAST, BEST, RESULT) if (out / name).exists()])
    if there and not resume:
        fix = "resume the run (--resume, or resume=True), or choose another folder"
        raise UsageError("already holds a run", where=out, fix=fix)
    if LAST in there:
        run.log.extend(run.load(out / LAST, run.optimiser).log)
        if (made := len(run.log)) > config.train.epochs:
            what = f"has {count_of(made, 'epoch')}, but train.epochs is {config.train.epochs}"
            raise UsageError(what, where=out, fix=f"give at least {made}, or another folder")
        say(f"resumed after epoch {made} of {config.train.epochs}")
        for name in ("run.json", RESULT) if not run.finished and parallel.rank() == 0 else ():  # of the epochs so far
            (out / name).unlink(missing_ok=True)
        return
    if BEST in there:  # of an untrained model, or of an epoch that was not finished
        check_same(checkpoint.read(out / BEST).config, config, out, FREE)
    if resume:
        say(f"there is no run to resume in {out}: a new run starts")
    items, alone = count_of(len(loader.part.images), "image"), run.model.captions is None
    items = items if alone else f"{len(loader.second):,} training captions of {items}, {len(run.vocabulary):,} words"
    say(
        f"{config.data.name}: {items}; {config.model.image}{'' if alone else f' and {config.model.text}'}, "
        f"{sum(p.numel() for p in run.model.parameters()):,} weights; loss {config.loss.name}; "
        f"{count_of(loader.steps, 'step')} of {min(config.train.batch, len(loader.second)):,} "
        f"{'images' if alone else 'pairs'} per epoch on {run.device}"
    )
    said = () if alone else Words(run.vocabulary, run.parts["val"].captions).rows
    unknown = [word < len(SPECIAL) for row in said for word in row[1:-1]]
    if unknown and (share := float(np.mean(unknown))) > MANY_UNKNOWN:
        say(f"{share:.0%} of the words of the validation captions have no vector: set data.word_count=1 or split words")
    if 0 < config.train.epochs <= config.loss.warmup:
        say(f"loss {config.loss.name} is never used: the run ends in its warm-up (loss.warmup)")


def best_epoch(config: Config, log: Log) -> int:
    """The first epoch with the best value of ``train.select``, from 1 and after the warm-up; 0 without epochs. Of a
    metric with two directions the mean counts. Raises Diverged if no value is a number."""
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


def schedule(run: Run, epoch: int) -> float:
    """Set the learning rates of an epoch, counted from 0; the one of most weights."""
    t, groups = run.config.train, run.optimiser.param_groups
    tuned = run.config.model.finetune and epoch >= t.finetune_from
    decayed = t.lr * (t.decay ** (epoch // t.decay_every) if t.decay_every else 1.0)
    groups[0]["lr"] = t.finetune_lr if len(groups) > 1 and tuned and t.finetune_from else decayed
    for group in groups[1:]:
        group["lr"] = t.finetune_lr if tuned else 0.0
        for parameter in group["params"]:
            parameter.requires_grad_(tuned)
    return float(groups[0]["lr"])


def step(run: Run, batch: Batch, epoch: int, number: int = 1) -> tuple[float, float]:
    """One step of the optimiser, of this number in its epoch; the loss a pair, and the spread of the scores. Raises
    Diverged if the loss or its gradient is not a finite number; the weights are left as they were."""
    config, mixed = run.config, run.config.train.precision == "bf16"
    run.optimiser.zero_grad(set_to_none=True)
    count, rank = parallel.count(), parallel.rank()
    shares = ({k: v.tensor_split(count)[rank] for k, v in batch[side].items()} for side in ("rows", "columns"))
    with torch.autocast(run.device.type, torch.bfloat16, enabled=mixed):
        encoded = run.model(*(on_device(share, run.device) for share in shares))
    rows, columns = (parallel.gathered(side.float() if mixed else side) for side in encoded)
    s = scores(rows, columns, config.model)
    total = loss_of(run, s, batch, epoch)
    total.backward()
    parallel.add_gradients([p for name, p in run.model.named_parameters() if not name.startswith("learned.")])
    norm = float(nn.utils.clip_grad_norm_(run.model.parameters(), config.train.clip or math.inf))
    value = float(total.detach())
    for what, found in (("loss", value), ("norm of the gradient", norm)):
        if not math.isfinite(found):
            ids = run.loader.part.split.rows.ids[run.loader.image_of[batch["items"][:5]]].tolist()
            what = f"the {what} is {found} in epoch {epoch + 1}, step {number}, in the batch of images {ids}, ..."
            raise Diverged(what, fix="lower the learning rate, or check the features of these images")
    run.optimiser.step()
    run.model.limit()
    return value / len(s), float(s.detach().std())


def loss_of(run: Run, s: torch.Tensor, batch: Batch, epoch: int) -> Any:
    """The loss of the scores (b, b) of a batch, in the warm-up the sum of hinges."""
    loss, positive = run.config.loss, batch["positive"].to(s.device)
    if not loss.mask_same_image:
        positive = torch.eye(len(s), dtype=torch.bool, device=s.device)
    if epoch < loss.warmup:
        margin = {key: value for key, value in loss.settings.items() if key == "margin"}
        return get_loss("sh").function(s, positive, **margin)
    degree = {"degree": batch["degree"].to(s.device)} if loss.entry.needs_degree else {}
    return loss.entry.function(s, positive, **{**loss.settings, **run.model.hyper_parameters()}, **degree)


def stuck(run: Run, loss: float, spread: float) -> dict[str, str]:
    """A sentence for the log of an epoch that ends with nearly equal scores, which cost twice the margin."""
    settings, margin = run.config.loss, run.config.loss.values.get("margin", 0)
    if not margin or settings.entry.needs_degree or len(run.log) < settings.warmup or spread > NEARLY * margin:
        return {}
    sentence = (
        f"all scores are nearly equal, and the loss is twice the margin ({2 * margin:g}): the hardest negatives "
        f"teach nothing here. Set loss.warmup={settings.warmup + 2} (epochs with the sum-of-hinges loss), or use "
        "another loss"
    )
    return {EQUAL: sentence} if abs(loss / (2 * margin) - 1) < NEARLY else {}


def validate(run: Run, line: dict[str, Any], started: float, say: Say) -> dict[str, Any]:
    """The values of the validation part, which go to the log with the line of an epoch that began at ``started``."""
    t, name, n = run.config.train, run.config.train.select, len(run.log) + 1
    report, _ = evaluate(run, "val", name if run.model.captions is None else f"recall,{name}")
    seconds, found = time.monotonic() - started, report.to_dict()
    run.log.append({**line, "seconds": round(seconds, 1), **found})
    values = [r.value * (100 if r.unit == "fraction" else 1) for r in report.results if str(r.metric) == name]
    best = " (best)" if best_epoch(run.config, run.log) == n else ""
    say(
        f"epoch {n:>3}: loss {line['loss']:.3f}, lr {line['lr']:g}, {name} {' / '.join(f'{v:.2f}' for v in values)}"
        f"{best}, {seconds:.0f} s, about {seconds * (t.epochs - n):.0f} s left in all"
    )
    if [EQUAL in line for line in run.log[-3:]] in ([True, True], [False, True, True]):
        say(line[EQUAL])
    if n == run.config.loss.warmup + 1 > 1:
        say("the warm-up is over: the best epoch is chosen from this one on")
    return found


def evaluate(run: Run, part: PartName, metrics: str | None) -> tuple[vb.Report, dict[str, Any]]:
    """The report of a part, in all processes; the first one encodes and ranks it, and has what was evaluated, too."""
    found: dict[str, Any] = {}

    def measured() -> vb.Report:
        found.update(encode.embeddings(run.model, run.vocabulary, run.parts[part], run.config))
        return encode.evaluate(found, metrics)

    return parallel.of_first(measured), found


def finish(run: Run, out: Path, metrics: str | None, say: Say) -> vb.Report:
    """Encode the test part with the best epoch, and evaluate it; raises BadInput if its file has another one."""
    c, made, best = run.config, len(run.log), best_epoch(run.config, run.log)
    if made < c.train.epochs:
        say(f"stopped: {c.train.select} did not improve in {count_of(c.train.patience, 'epoch')}")
    parallel.of_first(lambda: None)  # it may still write that epoch
    if best and (stored := len(run.load(out / BEST).log)) != best:
        raise BadInput(f"holds epoch {stored}, not {best}", where=out / BEST, fix="train again, in another folder")
    if not best and parallel.rank() == 0:
        run.save(out / BEST)
    report, found = evaluate(run, "test", metrics)
    if run.log and EQUAL in run.log[-1]:
        report = replace(report, warnings=(run.log[-1][EQUAL], *report.warnings))
    if parallel.rank() == 0:
        encode.write_file(found, run.parts["test"], out / EMBEDDINGS)
        kind = next((kind for kind in ("scores", "labels") if kind in found), "embeddings")
        about = {"schema": "vsebench/run/1", "file": EMBEDDINGS, "kind": kind, "similarity": found.get("similarity"),
                 "split": run.parts["test"].split.name, "config": c.to_dict()}  # fmt: skip
        with write(out / "run.json", "w") as stream:  # the folder is input of ``vsebench eval``
            stream.write(json.dumps(about, indent=2) + "\n")
        report.save(str(out / RESULT))
    say(f"best epoch {best} of {made}; test part of {c.data.name} in {out / RESULT}")
    return report
