"""The page of the claims of the papers, from the summaries of suites in ``leaderboards/suites``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from vsebench.errors import count_of

FOLDER = Path(__file__).parent.parent / "leaderboards" / "suites"
INTRODUCTION = """# Do the claims of the papers hold here?

Each loss of the papers is trained by `vsebench train-reference --suite small`: the same model, batches and number of
epochs, and the same seeds. The data and the models are far smaller than those of the papers, so a claim that does
not hold here may hold there. `train_reference/claims.py` has the claims and says how the intervals are made.

- **holds here**: the 95 % intervals of all differences are above their limits.
- **does not hold here**: at least one is below, at a level corrected for their number.
- **undecided**: neither.

Differences are means of both directions, in percentage points; of RSum the difference of the sum of six recalls.
Intervals are over seeds and test images.
"""


def claims_page(folder: Path = FOLDER) -> str:
    """The page: claims, their numbers, the values of all runs and the provenance, of every suite that judges claims."""
    out = [INTRODUCTION]
    for file in sorted(folder.glob("*.json")):
        summary = json.loads(file.read_text(encoding="utf-8"))
        if summary.get("claims") or summary.get("left_out"):
            out += [f"\n## {file.stem}\n\n", *_provenance(summary), *_claims(summary), *_values(summary)]
    if len(out) == 1:
        out.append("\nNo complete suite is stored yet.\n")
    return "".join(out)


def _provenance(summary: dict[str, Any]) -> list[str]:
    versions = ", ".join(f"{name} {version}" for name, version in summary["versions"].items())
    machine = summary["machine"]
    return [
        f"{count_of(len(summary['runs']), 'run')}, seeds {', '.join(map(str, summary['seeds']))}, "
        f"{summary['seconds'] / 60:.0f} minutes on {machine['platform']} with {machine['cores']} cores, "
        f"begun {summary['started']}; Python {summary['python']}, "
        f"{versions}.\n\n",
        *(f"{note}.\n\n" for note in summary["notes"]),
    ]


def _claims(summary: dict[str, Any]) -> list[str]:
    out = ["| claim | paper | data | verdict |\n|---|---|---|---|\n"]
    for c in summary["claims"]:
        out.append(f"| {c['says']} | {c['paper']} | {c['data']} | **{c['verdict']}** |\n")
    for c in summary.get("left_out", []):
        out.append(f"| {c['says']} | {c['paper']} | {c['data']} | not judged: {c['because']} |\n")
    out.append("\n| claim | data | difference | metric | value | interval | limit | seeds | |\n" + "|---" * 9 + "|\n")
    for c in summary["claims"]:
        for part in c["parts"]:
            ends = "-" if part["low"] is None else f"{_points(part['low'])} to {_points(part['high'])}"
            seeds = ", ".join(map(_points, part["seeds"]))
            out.append(
                f"| {c['claim']} | {c['data']} | {part['says']} | `{part['metric']}` "
                f"| {_points(part['difference'])} | {ends} | {_points(part['above'])} | {seeds} | {part['verdict']} |\n"
            )
    return out


def _values(summary: dict[str, Any]) -> list[str]:
    """Means over the seeds of every variant, a table for each data set."""
    out = []
    for data in dict.fromkeys(run["data"] for run in summary["runs"].values()):
        groups: dict[str, list[dict[str, Any]]] = {}
        for run in summary["runs"].values():
            if run["data"] == data:
                groups.setdefault(run["variant"], []).append(run)
        names = list(next(iter(groups.values()))[0]["values"])
        out.append(f"\nMeans over the seeds, test part of {data}:\n\n| run | {' | '.join(f'`{n}`' for n in names)} |\n")
        out.append("|---" + "|---:" * len(names) + "|\n")
        for variant, runs in groups.items():
            means = [sum(run["values"][name] for run in runs) / len(runs) for name in names]
            out.append(f"| {variant} | {' | '.join(f'{100 * mean:.1f}' for mean in means)} |\n")
    return out


def _points(value: float) -> str:
    return f"{100 * value:+.1f}"
