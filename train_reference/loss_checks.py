"""What a configuration says of its loss, checked before training: ``checked_loss``."""

from __future__ import annotations

import math
from typing import Any

import torch

from vsebench.errors import UsageError
from vsebench.relevance import SOURCES, parse_spec
from vsebench.relevance.sources import LABELS

from .config import Config
from .config import Loss as Settings
from .losses import DEGREES, Loss, get_loss
from .model import NO_TEXT
from .own_file import raised

OF_CAPTIONS = {"loss.warmup": 0, "loss.degree_of": "image", "data.first": 1.0}  # without meaning for images alone


def checked_loss(config: Config) -> Loss:
    """The loss of a configuration.

    Raises:
        UsageError: an unknown loss, settings that it does not have or cannot compute with, hyper-parameters that cannot
            be trained, a degree outside the range that it expects, or a model of images alone for a loss of pairs.
    """
    settings, batch = config.loss, config.train.batch
    if settings.neighbours >= batch:
        fix = f"give less than train.batch, {batch}"
        raise UsageError(f"loss.neighbours is {settings.neighbours}", fix=fix)
    loss = get_loss(settings.name)
    check_sides(config, loss)
    check_range(settings, loss.degree)
    unknown = sorted({*settings.settings, *settings.learned} - set(loss.settings))
    if unknown:
        fix = f"use {', '.join(loss.settings) or 'none'}"
        raise UsageError(f"loss '{loss.name}' has no setting '{unknown[0]}'", fix=fix)
    values = loss.settings | settings.settings
    for name in settings.learned:
        if name not in loss.learnable:
            fix = f"use {', '.join(loss.learnable)}" if loss.learnable else "leave loss.learned out"
            raise UsageError(f"loss.learned has '{name}', which loss '{loss.name}' cannot learn", fix=fix)
        if type(values[name]) not in (float, int) or (name == "scale" and values[name] <= 0):
            what = f"loss.learned has '{name}', which begins at {values[name]!r}"
            raise UsageError(what, fix="let it begin at a number; of scale, above 0")
    _try(loss, settings.settings)
    return loss


def check_sides(config: Config, loss: Loss) -> None:
    """Refuse a model of images alone with what needs captions, and label distances of images for one of captions."""
    text, relevance = config.model.text, config.loss.relevance
    if (text == NO_TEXT) != (relevance == LABELS):
        fix = f"give both, {NO_TEXT} and {LABELS}, as --config scenes/log_ratio,images does, or neither"
        raise UsageError(f"model.text is '{text}', and loss.relevance '{relevance}'", fix=fix)
    if text != NO_TEXT:
        return
    if loss.degree != "label":
        fix = "give a loss on label distances: log_ratio, dense_triplet or nearest_triplet"
        raise UsageError(f"model.text is '{NO_TEXT}', and loss '{loss.name}' is of pairs with captions", fix=fix)
    values = config.flat()
    for name, default in OF_CAPTIONS.items():
        if values[name] != default:
            raise UsageError(f"{name} has no meaning for images alone", fix="leave it out")


def check_range(settings: Settings, expected: str | None) -> None:
    """Refuse degrees outside the range that a loss declares, as far as the kind of gains tells theirs.

    Those of ``cider`` must reach its end too: they are divided by a temperature that is made for it.

    Args:
        settings: the configuration.
        expected: a name of ``losses.DEGREES``, or None for any.

    Raises:
        UsageError: naming both ranges.
    """
    if expected is None or (settings.relevance == LABELS and expected == "label"):
        return
    kind, (low, high) = SOURCES[parse_spec(settings.relevance).kind], DEGREES[expected]
    ends = [-math.inf, 1.0] if kind.from_distance else [kind.low, kind.high]
    known = sorted(settings.scale * end for end in ends if end is not None)
    given = [min(end, 1.0) for end in known] if settings.own_degree == "one" else known
    short = expected == "cider" and kind.high is not None and max(given) < high
    if all(low <= end <= high for end in given) and not short:
        return
    what = f"loss '{settings.name}' expects a degree from {low:g} to {high:g} ({expected}), and loss.relevance"
    what += f" '{settings.relevance}' with loss.scale={settings.scale:g} gives {' to '.join(f'{x:g}' for x in given)}"
    largest = max(map(abs, known))
    scale = f"loss.scale={settings.scale * high / largest:g}, or " if low >= -1 and 0 < largest < math.inf else ""
    if short and settings.own_degree == "one":
        scale = "loss.own_degree=gain, or "
    raise UsageError(what, fix=f"set {scale}loss.relevance to gains of that range")


def _try(loss: Loss, settings: dict[str, Any]) -> None:
    """Compute the loss of three pairs; raises UsageError where that fails, or gives no number to minimise."""
    given = ", ".join(f"{name} = {value!r}" for name, value in settings.items())
    known = ", ".join(f"{name} = {value!r}" for name, value in loss.settings.items())
    named, fix = f"loss '{loss.name}'{given and f' with {given}'}", f"give values as in {known}"
    pairs = (torch.eye(3) - 1).requires_grad_()  # cosines, or minus distances
    extra = {"degree": torch.eye(3)} if loss.needs_degree else {}
    try:
        total = loss.function(pairs, torch.eye(3, dtype=torch.bool), **settings, **extra)
        check_total(loss, total, pairs)
    except UsageError:
        raise
    except (Exception, SystemExit) as error:  # code of the user raises anything
        what = f"{named} fails ({raised(error, loss.name)})"
        raise UsageError(what, fix=fix if known else "correct the function") from error
    if not total.isfinite():
        raise UsageError(f"{named} is {total.item()} for three pairs", fix=fix if known else "correct the function")


def check_total(loss: Loss, total: Any, scores: torch.Tensor | None = None) -> None:
    """Refuse what is no number to minimise, or does not depend on the scores (b, b), if given; raises UsageError."""
    if isinstance(total, torch.Tensor):
        fits = not total.ndim and total.requires_grad and total.is_floating_point()
        if fits and (scores is None or torch.autograd.grad(total, scores, allow_unused=True)[0] is not None):
            return
    shown = f"a tensor of shape {tuple(total.shape)}" if isinstance(total, torch.Tensor) else repr(total)[:60]
    fix = "return a scalar tensor of floats that depends on the scores"
    raise UsageError(f"loss '{loss.name}' returns {shown}", fix=fix)
