"""The page of the claims of the papers, from the summaries of suites in ``leaderboards/suites``."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from vsebench.errors import count_of

FOLDER = Path(__file__).parent.parent / "leaderboards" / "suites"
INTRODUCTION = """# Do the claims of the papers hold here?

Each loss of the papers is trained by `vsebench train-reference --suite small`. What differs beside the loss, such as
pairs of a batch that are chosen near the others, epochs of another loss before it, and more epochs on little data, is
in a table for each data set below. The data and the models are far smaller than those of the papers, so a claim that
does not hold here may hold there. `train_reference/claims.py` has the claims and says how the intervals are made.

- **holds here**: the intervals of all differences are above their limits.
- **does not hold here**: that of at least one is below.
- **undecided**: neither.

There are many verdicts, and by chance alone one of twenty would be wrong at 95 %. So each verdict is read from wider
intervals, whose level is corrected (Bonferroni) for all verdicts of the suite, on all of its data. The level of *does
not hold* is also corrected for the number of differences, as one of them is enough. The table of verdicts has both
levels, that of differences the intervals of 95 %. Recall is *equal* where it is at least 95 % of the other value; where
the interval of 95 % of a difference is below 0 it is *lower*, without a correction, and not equal.

Differences are means of both directions, in percentage points; of RSum the difference of the sum of six recalls.
Intervals are over seeds and test images; `leaderboards/suites` has their variances.

Relevance on scenes is known from the facts that a caption states. `holds` is the share of these that hold in a scene,
and `entails` asks whether all do. `match` is the F-score of facts: it also asks how much of the scene a caption
describes, so that a true caption that says little has a small gain. Graded metrics of the claims on scenes are by
`match`, mAP@R is by `entails`, and no claim is by `holds`. On `coco-objects` they are by CIDEr-D and the judgements of
ECCV Caption. A loss that takes the relevance of a pair from the gains of a metric is trained for that metric. Its
difference shows that it learns what it is given, and not that people or other gains would find its rankings better.
These differences are marked *trained on*.
"""


def claims_page(folder: Path = FOLDER) -> str:
    """The page: of every suite that judges claims its claims and their numbers, settings and values of all runs."""
    out = [INTRODUCTION]
    for file in sorted(folder.glob("*.json")):
        summary = json.loads(file.read_text(encoding="utf-8"))
        if "verdicts" in summary:
            sections = (_provenance, _claims, _differences, _settings, _values)
            out += [f"\n## {file.stem}\n\n", *(line for section in sections for line in section(summary))]
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
    out = [
        f"The complete suite has {count_of(summary['verdicts'], 'verdict')}.\n\n"
        "| claim | paper | data | verdict | holds at | does not hold at |\n|---|---|---|---|---:|---:|\n"
    ]
    for c in summary["claims"]:
        at = " | ".join(f"{100 * c['levels'][name]:.5g} %" for name in ("holds", "fails"))
        out.append(f"| {c['says']} | {c['paper']} | {c['data']} | **{c['verdict']}** | {at} |\n")
    for c in summary["left_out"]:
        out.append(f"| {c['says']} | {c['paper']} | {c['data']} | not judged: {c['because']} | | |\n")
    return out


def _differences(summary: dict[str, Any]) -> list[str]:
    out = ["\n| claim | data | difference | metric | value | interval | limit | seeds | | |\n" + "|---" * 10 + "|\n"]
    for c in summary["claims"]:
        for part in c["parts"]:
            ends = "-" if part["low"] is None else f"{_points(part['low'])} to {_points(part['high'])}"
            seeds = ", ".join(map(_points, part["seeds"]))
            gains = part["metric"].partition(":")[0]
            note = f"{', '.join(part['trained'])} trained on `{gains}`" if part["trained"] else ""
            out.append(
                f"| {c['claim']} | {c['data']} | {part['says']} | `{part['metric']}` | {_points(part['difference'])} "
                f"| {ends} | {_points(part['above'])} | {seeds} "
                f"| {'lower: ' if part['lower'] else ''}{part['verdict']} | {note} |\n"
            )
    return out


def _settings(summary: dict[str, Any]) -> list[str]:
    """What differs between the runs of a data set, what is the same, and how many epochs were made."""
    out = []
    for data in dict.fromkeys(run["data"] for run in summary["runs"].values()):
        runs = [run for run in summary["runs"].values() if run["data"] == data]
        of = {run["variant"]: _flat(run) for run in runs}
        same, rows = [], []
        for key in next(iter(of.values())):
            groups: dict[str, list[str]] = {}
            for variant, values in of.items():
                groups.setdefault(values[key], []).append(variant)
            (value, _), *others = sorted(groups.items(), key=lambda group: -len(group[1]))
            if others:
                rows.append(f"| `{key}` | {value} | {'; '.join(f'{v}: {_listed(names)}' for v, names in others)} |\n")
            else:
                same.append(f"`{key}={value}`")
        out.append(f"\nSettings of the runs on {data} that differ, beside the loss and the seed:\n\n")
        out += ["| setting | most runs | others |\n|---|---|---|\n", *rows, f"\nThe same in all: {_listed(same)}.\n"]
        out.append(_epochs(runs))
    return out


def _epochs(runs: list[dict[str, Any]]) -> str:
    """How many runs ended because the validation part did not improve, and how many might have improved further."""
    ended = sum(run["epochs"] < run["config"]["train"]["epochs"] for run in runs)
    last = [run["variant"] for run in runs if run["epochs"] == run["best_epoch"]]
    of = ": " + _listed(f"{name} ({last.count(name)})" for name in dict.fromkeys(last)) if last else ""
    return (
        f"\n{ended} of {count_of(len(runs), 'run')} ended before `train.epochs`, as the validation part did not improve"
        f". In {len(last)} the last epoch was the best{of}.\n"
    )


def _flat(run: dict[str, Any]) -> dict[str, str]:
    """The settings of a run, for a table; those of relevance are "-" where the loss takes no degree."""
    values = {f"{section}.{key}": value for section, keys in run["config"].items() for key, value in keys.items()}
    values["loss.settings"] = _listed(f"{key} {value}" for key, value in values["loss.settings"].items()) or "-"
    if not run["degree"]:
        values |= dict.fromkeys(("loss.relevance", "loss.scale", "loss.reference", "loss.own"), "-")
    hidden = ("loss.name", "loss.fingerprint", "train.seed")
    return {key: str(value) for key, value in values.items() if key not in hidden and value != ""}


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words)


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
