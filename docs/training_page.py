"""The generated part of docs/training.md: the settings of a run, and the losses."""

from __future__ import annotations

import dataclasses
import inspect
import re
from typing import Any, Literal, get_args, get_origin, get_type_hints

LOSSES = """## Losses

Defaults are those of the functions. On scenes `--loss NAME` takes the settings of
`train_reference/configs/scenes/NAME.toml` instead, which suit the small model; `--config FILE` and
`--set loss.settings.KEY=VALUE` change them.

| loss | source | settings | graded |
|---|---|---|---|
"""


def tables() -> str | None:
    """Both tables, with their headings; None without torch, which the losses need."""
    try:
        import torch  # noqa: F401
    except ImportError:
        return None
    return _settings() + "\n" + _losses()


def _settings() -> str:
    """Every key of a configuration with its default and meaning, from the docstrings of its sections."""
    from train_reference.config import SECTIONS

    out = ["## Settings\n"]
    for name, section in SECTIONS.items():
        meanings = attributes(section)
        out += [f"\n`[{name}]`\n\n| key | default | meaning |\n|---|---|---|\n"]
        for field in dataclasses.fields(section):
            factory = field.default_factory
            default = field.default if factory is dataclasses.MISSING else factory()
            kind = get_type_hints(section)[field.name]
            meaning = meanings[field.name]
            if get_origin(kind) is Literal and any(f"`{choice}`" not in meaning for choice in get_args(kind)):
                meaning += f"; one of {', '.join(f'`{choice}`' for choice in get_args(kind))}"
            out.append(f"| `{field.name}` | {_toml(default)} | {meaning} |\n")
    return "".join(out)


def attributes(kind: type) -> dict[str, str]:
    """The texts under ``Attributes:`` of a docstring, each in one line."""
    text = (inspect.getdoc(kind) or "").partition("Attributes:\n")[2]
    found = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", text, re.M)
    return {name: re.sub(r"``", "`", " ".join(words.split())).rstrip(".") for name, words in found}


def _losses() -> str:
    """Every registered loss: names, source, settings with defaults, and whether it takes a degree of relevance."""
    from train_reference.losses import get_loss, loss_names

    out = [LOSSES]
    for name in loss_names():
        entry = get_loss(name)
        names = ", ".join(f"`{x}`" for x in (name, *entry.aka))
        hints = get_type_hints(entry.function)
        settings = "; ".join(
            f"`{key}` {_toml(value)}{_others(hints[key], value)}" for key, value in entry.settings.items()
        )
        out.append(f"| {names} | {entry.cite} | {settings} | {'yes' if entry.needs_degree else 'no'} |\n")
    return "".join(out)


def _toml(value: Any) -> str:
    if value is None:
        return "-"
    if value is True or value is False:
        return f"`{str(value).lower()}`"
    if isinstance(value, str):
        return f'`"{value}"`'
    if isinstance(value, tuple):
        return f"`{list(value)}`"
    return f"`{value}`"


def _others(hint: Any, value: object) -> str:
    """The other values that a setting of a few takes."""
    others = [_toml(other) for other in get_args(hint) if other != value] if get_origin(hint) is Literal else []
    return f" (or {', '.join(others)})" if others else ""
