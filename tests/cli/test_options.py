"""Options are declared once: the signature of ``evaluate``, the command line and messages follow from the fields."""

from __future__ import annotations

import dataclasses
import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench as vb
from docs.generate import commands
from tests.commands import refused
from tests.messages import Pinned, Refuses
from vsebench.cli.signatures import GIVEN, PYTHON
from vsebench.errors import UsageError
from vsebench.evaluation.options import Options
from vsebench.options import GROUPED, command_line, settings, spell


def fields() -> dict[str, Any]:
    return {f.name: f.default for f in dataclasses.fields(Options)}


def test_the_signature_of_evaluate_is_that_of_the_fields() -> None:
    signature = inspect.signature(vb.evaluate)
    assert {name: p.default for name, p in signature.parameters.items()} == fields()


def test_the_command_line_is_made_of_the_signature() -> None:
    """Every argument is an option with its default and a help, but for arrays and rare statistics."""
    options = {p.name: p for p in dict(commands())["vsebench eval"].params}
    grouped = {name for group in GROUPED for name in fields() if name.endswith(f"_{group}")}
    left_out = grouped | {*PYTHON, *GIVEN, "images"} - {"threads", "resamples", "seed"}
    for name, default in fields().items():
        assert (name in options) == (name not in left_out), name
        if name in options:
            assert options[name].default in (default, None) and len(options[name].help) > 10
    assert {"key"} <= set(options)


@pytest.mark.parametrize("given", [{"direction": "i2x"}, {"resamples": 9}, {"lists": 101}])
def test_values_that_are_not_allowed(given: dict[str, Any], refuses: Refuses) -> None:
    refuses(UsageError, Options, **given)


def test_settings_are_what_differs_from_the_defaults() -> None:
    assert settings(Options(ties="expected", ci=0, seed=0, threads=None)) == {"ties": "expected", "ci": 0}


def test_messages_name_an_option_in_the_words_of_the_caller() -> None:
    options = (
        ("trust", True),
        ("no_positive", "miss"),
        ("ci", 0),
        ("captions", "FILE"),
        ("only", "LANG=DE"),
        ("gains", "FILE.npy"),
        ("style",),
        ("text_key", "KEY"),
    )
    assert [spell(*o) for o in options] == [
        "trust=True", "no_positive='miss'", "ci=0", "captions=FILE", "only='LANG=DE'", "gains=FILE.npy", "style",
        "text_key=KEY",
    ]  # fmt: skip
    with command_line():
        assert [spell(*o) for o in options] == [
            "--trust", "--no-positive miss", "--ci 0", "--captions FILE", "--only LANG=DE",
            "--gains FILE.npy", "--format",
            "--key text=KEY",
        ]  # fmt: skip
    assert spell("trust") == "trust"


def test_an_empty_list_of_gains_is_refused(tmp_path: Path, pinned: Pinned) -> None:
    np.savez(tmp_path / "e.npz", image_embeddings=np.eye(3), text_embeddings=np.repeat(np.eye(3), 5, axis=0))
    pinned(refused("eval", tmp_path / "e.npz", "--gains", ""))
