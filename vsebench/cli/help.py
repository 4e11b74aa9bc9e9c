"""The command line of ``vsebench eval``: the usual options in panels with ``--help``, all with ``--help-all``."""

from __future__ import annotations

import os
from typing import Any

import typer.core

from .usage import are_metrics

# Panel -> the usual parameters of ``vsebench eval`` -> (name of the value, help in a line). ``--help-all`` has the
# complete help of these and of all other options.
PANELS: dict[str, dict[str, tuple[str, str]]] = {
    "Input": {
        "texts": ("FILE", "Text vectors, when FILE is an .npy of image vectors."),
        "scores": ("FILE", "A score matrix instead: a row an image."),
        "retrieved": ("FILE", "Retrieved lists instead: TREC run or JSON; i2t=FILE."),
        "split": ("NAME", "coco-5k, coco-1k, f30k or custom; else by ids."),
        "trust": ("", "Evaluate a file that looks misread."),
    },
    "What is measured": {
        "metrics": (
            "NAMES",
            "Names or suites (recall, 1k, eccv, cxc, cs, ncs, sr, ndcg) with commas, or all.",
        ),
        "gains": ("KIND", "Graded relevance: cider, spice, sentence:NAME, FILE.npy."),
        "captions": ("FILE", "The captions, for splits whose captions are not known."),
        "direction": ("WORD", "both (the default), i2t or t2i."),
        "similarity": ("WORD", "auto (the default), cosine or dot."),
        "ties": ("WORD", "The rule for equal scores; index is the default."),
        "ci": ("PERCENT", "Level of the intervals, 95 by default; 0 for none."),
    },
    "Result": {
        "output": ("FILE", "Also write the JSON report, for vsebench compare."),
        "as_json": ("", "Print the JSON report."),
        "per_query": ("FILE", "Write all per-query values (.parquet or .csv)."),
        "save_run": ("FILE", "Write the top of every ranking (JSON or TREC)."),
        "quiet": ("", "No notes, warnings or progress on stderr."),
    },
}
MORE = "More options"
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
        panel_of = {name: panel for panel, texts in PANELS.items() for name in texts}
        order = [*panel_of, *(p.name for p in self.params)]
        self.params.sort(key=lambda p: order.index(p.name))
        options: list[Any] = [p for p in self.params if p.param_type_name == "option"]
        for p in options:
            p.rich_help_panel = panel_of.get(p.name, MORE)
            p.hidden = not everything and p.name not in panel_of
            if not everything and not p.hidden:
                p.metavar, p.help = PANELS[p.rich_help_panel][p.name]
                p.show_default = False
