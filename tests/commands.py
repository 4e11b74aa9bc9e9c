"""The command line in this process."""

from __future__ import annotations

import json
import sys
from typing import Any, NamedTuple

from click.testing import CliRunner, Result

from vsebench.cli import app


class Done(NamedTuple):
    """What a command has printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The document on stdout, which has nothing else."""
        return json.loads(self.out)

    @property
    def words(self) -> str:
        """What is on stdout, in one line."""
        return " ".join(self.out.split())


def cli(*args: object, code: int | None = 0, **options: Any) -> Done:
    """Run a command, which ends with ``code`` (None: any); options are those of the runner, such as ``env``."""
    done = invoke(*args, **options)
    assert code in (None, done.exit_code), f"exit code {done.exit_code}: {done.stderr}"
    return Done(done.exit_code, done.stdout, done.stderr)


def refused(*args: object, code: int = 2) -> str:
    """What a command that ends with ``code`` prints on stderr; stdout is empty."""
    done = cli(*args, code=code)
    assert done.out == ""
    return done.err


def invoke(*args: object, env: dict[str, str | None] | None = None) -> Result:
    """Run a command in this process, with other variables of the environment; an error that is no exit is kept."""
    runner, code, raised = CliRunner(), 0, None
    with runner.isolation(env=env) as streams:
        try:
            app.main([str(a) for a in args], prog_name="vsebench")
        except SystemExit as end:
            code, raised = int(end.code or 0), end if end.code else None
        except Exception as error:
            code, raised = 1, error
        sys.stdout.flush(), sys.stderr.flush()
        out, err, both = (stream.getvalue() for stream in streams)
    return Result(runner, out, err, both, None, code, raised)


def printed(*args: object) -> str:
    """What a command prints on stdout; it succeeds."""
    return cli(*args).out


def document(*args: object, code: int = 0) -> Any:
    """The JSON document that a command prints; stdout has nothing else."""
    return cli(*args, "--json", code=code).json
