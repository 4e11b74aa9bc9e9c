"""Pages whose examples are run: Python blocks as they are, commands with the output that they print.

On the pages of ``PAGES`` every Python block runs, and every line ``$ vsebench ...`` of a console block, in the order of
the page and in one empty folder. The lines below a command are replaced by what it prints on the terminal; a command
without such lines runs, and its output is left out. Other commands (``$ pip ...``) are not run. A comment
behind ``print`` is replaced by the line that it prints.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGES = (
    "getting-started.md", "report.md", "sets.md", "judgements.md", "scores.md",
    "choice.md", "scenes.md", "backends.md", "export.md", "coming-from.md", "my-number-differs.md",
)  # fmt: skip
COLUMNS = 100  # of the terminal
FENCE = re.compile(r"^```(python|console)\n(.*?)^```$", re.S | re.M)


def rerun(page: str) -> str:
    """The text of a page with the output of its commands as it is now.

    Raises:
        RuntimeError: a command fails; the message has its output.
    """
    names: dict[str, Any] = {"__name__": "__main__"}

    def block(found: re.Match[str]) -> str:
        if found[1] == "python":
            return f"```python\n{_python(found[2], names)}```"
        return f"```console\n{_commands(found[2])}```"

    with _empty_folder():
        return FENCE.sub(block, page)


def _python(code: str, names: dict[str, Any]) -> str:
    """The code of a block; a comment behind ``print`` is what it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "<example>", "exec"), names)
    printed = iter(out.getvalue().splitlines())
    return re.sub(r"^(print\(.*?\))(?:  # .*)?$", lambda line: f"{line[1]}  # {next(printed)}", code, flags=re.M)


def _commands(text: str) -> str:
    """The commands of a block, each with its output where the page shows one."""
    shown = []
    for command in re.findall(r"^\$ .*\n(?:(?!\$ ).*\n)*", text, re.M):
        line, _, output = command.partition("\n")
        printed = _output(line.removeprefix("$ vsebench ")) if line.startswith("$ vsebench ") else output
        shown.append(f"{line}\n{printed if output else ''}")
    return "".join(shown)


def _output(arguments: str) -> str:
    """What a command prints: stdout, then stderr."""
    from typer.testing import CliRunner

    from vsebench.cli import app, terminal

    terminal.EVERY = 3600.0  # a slow machine adds no lines of progress
    done = CliRunner().invoke(app, shlex.split(arguments))
    if done.exit_code:
        raise RuntimeError(f"vsebench {arguments} ends with {done.exit_code}:\n{done.output}")
    text = "\n".join(line.rstrip() for line in (done.stdout + done.stderr).rstrip("\n").split("\n"))
    return re.sub(r"^\s*\n", "", text) + "\n"


@contextlib.contextmanager
def _empty_folder() -> Iterator[None]:
    """Work in an empty folder, with a cache of its own."""
    before, environment = Path.cwd(), dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"COLUMNS": str(COLUMNS), "VSEBENCH_CACHE": f"{folder}/.cache", "NO_COLOR": "1"}
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)
            os.environ.clear()
            os.environ |= environment
