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
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGES = (
    "getting-started.md", "faq.md", "statistics.md", "report.md", "sets.md", "judgements.md", "scores.md",
    "choice.md", "scenes.md", "backends.md", "coming-from.md", "my-number-differs.md",
)  # fmt: skip
COLUMNS = 100  # of the terminal
FENCE = re.compile(r"^```(python|console)\n(.*?)^```$", re.S | re.M)
COMMAND = re.compile(r"^\$ vsebench (.*)\n((?:(?!\$ ).*\n)*)", re.M)  # and the lines below it


def rerun(page: str) -> str:
    """The text of a page with the output of its commands as it is now.

    Raises:
        RuntimeError: a command fails; the message has its output.
    """
    names: dict[str, Any] = {"__name__": "__main__"}

    def block(found: re.Match[str]) -> str:
        language, code = found.groups()
        if language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(code, "<example>", "exec"), names)
            printed = iter(out.getvalue().splitlines())
            code = re.sub(
                r"^(print\(.*?\))(?:  # .*)?$", lambda line: f"{line[1]}  # {next(printed)}", code, flags=re.M
            )
        else:
            code = COMMAND.sub(_run, code)
        return f"```{language}\n{code}```"

    before, environment = Path.cwd(), dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"COLUMNS": str(COLUMNS), "VSEBENCH_CACHE": f"{folder}/.cache", "NO_COLOR": "1"}
        os.chdir(folder)
        try:
            return FENCE.sub(block, page)
        finally:
            os.chdir(before)
            os.environ.clear()
            os.environ |= environment


def _run(found: re.Match[str]) -> str:
    """A command with what it prints, stdout before stderr, if the page has output below it."""
    from click.testing import CliRunner

    from vsebench.cli import app, terminal

    terminal.PROGRESS_SECONDS = 3600.0  # a slow machine adds no lines of progress
    done = CliRunner().invoke(app, shlex.split(found[1]))
    if done.exit_code:
        raise RuntimeError(f"vsebench {found[1]} ends with {done.exit_code}:\n{done.output}")
    text = "\n".join(line.rstrip() for line in (done.stdout + done.stderr).rstrip("\n").split("\n"))
    shown = re.sub(r"^\s*\n", "", text) + "\n" if found[2] else ""
    return f"$ vsebench {found[1]}\n{shown}"
