"""The command line in this process."""

from __future__ import annotations

import json
from typing import Any

from typer.testing import CliRunner, Result

from vsebench.cli import app


def invoke(*args: object, **options: Any) -> Result:
    """Run a command; options are those of the runner, such as ``env``."""
    return CliRunner().invoke(app, [str(a) for a in args], **options)


def printed(*args: object) -> str:
    """What a command prints on stdout; it succeeds."""
    done = invoke(*args)
    assert done.exit_code == 0, done.stderr
    return done.stdout


def document(*args: object, code: int = 0) -> dict[str, Any]:
    """The JSON document that a command prints; stdout has nothing else."""
    done = invoke(*args, "--json")
    assert done.exit_code == code, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found
