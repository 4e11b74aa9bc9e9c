"""The command line of ``vsebench eval``: the usual options in panels with ``--help``, all with ``--help-all``."""

from __future__ import annotations

import os
from typing import Any

import typer.core

from ..evaluation.options import Given, Options
from ..options import MORE, PANELS, declared
from .blocks import Flags, ReportResult
from .usage import are_metrics

EPILOG = (
    "Example: vsebench eval embeddings.npz --metrics R@1,RSum,eccv -o A.json\n\n"
    "--help-all describes all options: names of arrays, resampling, special cases."
)


class Grouped(typer.core.TyperCommand):
    """A command whose help has panels, and whose files are no names of metrics."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As typer's; the help shows the usual options, or all of them."""
        if "--help-all" in args or set(ctx.help_option_names) & set(args):
            self._arrange(everything="--help-all" in args)
        rest = super().parse_args(ctx, ["--help" if word == "--help-all" else word for word in args])
        # Names of metrics that are separated by spaces are taken for files.
        words = [str(word) for word in ctx.params.get("files") or () if not os.path.exists(word)]  # noqa: PTH110 (False for a name that is too long)
        if words and are_metrics(words):
            ctx.fail(f"Got unexpected extra argument(s) ({' '.join(words)})")
        return rest

    def _arrange(self, everything: bool) -> None:
        facts = {name: f for block in (Given, Options, ReportResult, Flags) for name, (_, f) in declared(block).items()}
        options: list[Any] = [p for p in self.params if p.param_type_name == "option"]
        for p in options:
            p.rich_help_panel = facts[p.name].panel if p.name in facts else MORE
            p.hidden = p.rich_help_panel == MORE and not everything
        options.sort(key=lambda p: PANELS.index(p.rich_help_panel))
        self.params = [*(p for p in self.params if p not in options), *options]
