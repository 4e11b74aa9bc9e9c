"""``vsebench inspect``: shows what a file holds and how its rows would be matched, without evaluating it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .terminal import Terminal, listing

if TYPE_CHECKING:
    from ..results.table import Table


def run(terminal: Terminal, file: Path, *, scores: bool = False, **given: Any) -> None:
    """Show what a file holds and how it would be read, without evaluating it.

    If the file cannot be evaluated, print the reason and exit with code 3.

    Args:
        file: embeddings, scores, ranked lists, judgements, captions, or the folder of a run or a test set.
        scores: read the file as a score matrix; its content decides by default.
    """
    from .readers import read

    document, fault = read(file, scores, **given)
    terminal.answer(document, *_shown(document))
    if fault is not None:
        raise fault


def _shown(document: dict[str, Any]) -> list[str | Table]:
    """A table of the arrays, and lines on what they are."""
    from ..files.raw import shown

    rows = []
    for a in document["arrays"]:
        lengths = a.get("lengths")
        first = ", ".join(shown(x) for x in a.get("first", []))
        last = " / ".join(f"{lengths[k]:.4g}" for k in ("min", "median", "max")) if lengths else first
        rows.append((a["name"], " x ".join(f"{n:,}" for n in a["shape"]), a["dtype"], last))
    headings = ("array", "shape", "dtype", "vector lengths (min / median / max) or first ids")
    table = listing(headings, rows, f"{', '.join(document['files'][:3])} ({document['format']})")
    lines: list[str] = []
    if matched := document["matched"]:
        counts = ", ".join(f"{n:,} {name}" for name, n in matched.items() if isinstance(n, int))
        lines = [f"would be evaluated as {matched['split']}: {counts}", *(f"· {note}" for note in matched["notes"])]
        lines += [f"warning: {warning}" for warning in matched["warnings"]]
    elif document["fault"] is not None:
        lines = ["could not be evaluated, see the error"]
    return [table, *lines, *(f"· {note}" for note in document["notes"])]
