"""A small folder of leaderboards for tests: reports made here, and a summary of a suite."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import vsebench
from leaderboards.entries import COLUMNS, Model, add
from tests.choice_files import write

ROOT = Path(__file__).resolve().parents[1]
BOARD = ROOT / "leaderboards"
PAPERS = {
    "doe2020thing": {
        "name": "Thing", "authors": "J. Doe", "title": "A Thing", "venue": "CONF 2020", "url": "https://example.org/t",
    }
}  # fmt: skip
KEYS = [(f"R@{k}", d) for d in ("i2t", "t2i") for k in (1, 5, 10)] + [("RSum", ""), ("MedR", "i2t")]
ROWS = {  # model and setting -> cells, of which the empty ones are not printed
    ("First", ""): ["50.0", "70.0", "80.5", "40", "60.0", "70.0", "370.5", "1.5"],
    ("Second", "10 %"): ["51.0", "69.0", "80.1", "41.0", "61.0", "70.1", "", ""],
}
HOSTILE = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "' onmouseover='alert(1)", "</td></table></body>",
    "{{7*7}} ${7*7} %s {0}", "\u202egnp.exe\u202c שלום مرحبا", "\x1b[31mred\x1b[0m\x07\x00",
    "🦊🎉 emoji \U0001f469\u200d\U0001f52c", "x" * 2000, "a|b `c` *d* [e](javascript:alert(1)) <!-- -->",
    "&amp; &lt;b&gt; &#x3c;",
]  # fmt: skip
SIGNATURE = "vsebench:0.1.0|split:scenes-10k-test#4f2453ee|score:dot|order:f64|ties:index|empty:skip"


def edit(path: Path, change: Callable[[Any], object]) -> None:
    """Change the document of a JSON file in place."""
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    path.write_text(json.dumps(document), encoding="utf-8")


def records(table: str = "Table 1") -> list[dict[str, str]]:
    """The numbers of a table with two rows, as lines of a file of ``published``."""
    return [
        dict(zip(COLUMNS, (table, str(line), "", *name, "", "coco-5k", *key, cell,
                           "rank" if key[0] == "MedR" else "percent", "a remark" * (cell == "51.0")), strict=True))
        for line, (name, cells) in enumerate(ROWS.items(), start=1)
        for key, cell in zip(KEYS, cells, strict=True) if cell
    ]  # fmt: skip


def folder(path: Path, lines: list[dict[str, str]] | None = None) -> Path:
    """A folder with one published table."""
    write(path / "papers.json", PAPERS)
    write(path / "claims.json", [])
    write(path / "test_sets.json", json.loads((BOARD / "test_sets.json").read_text(encoding="utf-8")))
    (path / "published").mkdir(exist_ok=True)
    with (path / "published" / "doe2020thing.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        writer.writeheader()
        writer.writerows(records() if lines is None else lines)
    return path


def report(
    noise: float = 1.5, seed: int = 0, images: int = 60, metrics: str = "R@1,R@5,R@10,RSum,MedR"
) -> vsebench.Report:
    """A report on random vectors: captions are their image with noise."""
    truth = np.random.default_rng(7).standard_normal((images, 16)).astype(np.float32)
    rng = np.random.default_rng(seed)
    captions = (np.repeat(truth, 5, axis=0) + noise * rng.standard_normal((5 * images, 16))).astype(np.float32)
    return vsebench.evaluate(truth, captions, captions_per_image=5, metrics=metrics, resamples=200, trust=True)


def suite(seeds: tuple[int, ...] = (0, 1, 2), claims: bool = True, spread: float | None = 0.01) -> dict[str, Any]:
    """A summary of a suite of two variants."""
    rng = np.random.default_rng(3)
    runs = {}
    for seed in seeds:
        for variant, level in (("mh", 0.5), ("sh", 0.4)):
            values = {name: round(level + rng.normal(0, 0.005), 6) for name in ("R@1", "match:NCS@10", "entails:mAP@R")}
            results = [
                {"metric": name, "direction": d, "value": round(value + sign * 0.02, 6), "spread": spread}
                for name, value in values.items() for d, sign in (("i2t", 1), ("t2i", -1))
            ] + [{"metric": "RSum", "direction": None, "value": 3 * level, "spread": spread}]  # fmt: skip
            runs[f"scenes-10k/{variant}-seed{seed}"] = {
                "data": "scenes-10k", "variant": variant, "loss": variant, "seed": seed, "epochs": 5, "seconds": 10.0,
                "values": values | {"RSum": 3 * level}, "config": {"loss": {"name": variant}, "train": {"seed": seed}},
                "results": results, "signature": SIGNATURE,
            }  # fmt: skip
    part = {
        "says": "mh - sh", "variants": ["mh", "sh"], "metric": "R@1", "above": 0.0, "difference": 0.1, "low": 0.08,
        "high": 0.12, "seeds": [0.09, 0.1, 0.11], "trained": ["sam"], "lower": False, "verdict": "holds here",
    }  # fmt: skip
    undecided = {**part, "metric": "RSum", "difference": 0.01, "low": -0.1, "high": 0.12, "verdict": "undecided"}
    claim = {
        "claim": "hardest-negative", "data": "scenes-10k", "levels": {"holds": 0.995, "fails": 0.9975},
        "verdict": "undecided", "parts": [part, undecided],
    }  # fmt: skip
    return {
        "schema": "vsebench/suite/1", "suite": "small", "started": "2026-01-01T00:00:00+00:00",
        "seeds": list(seeds), "versions": {"vsebench": "0.1.0"}, "python": "3.11.7", "seconds": 60.0,
        "machine": {"platform": "Linux x86_64", "cores": 2}, "runs": runs, "claims": [claim] if claims else [],
    }  # fmt: skip


def three_levels(place: Path) -> Path:
    """A folder with entries of all levels, and two claims of which one was judged."""
    found = folder(place / "leaderboards")
    for seed, noise in enumerate((1.4, 1.5, 2.2)):
        report(noise, seed).save(place / "R.json")
        add(place / "R.json", Model(f"Noise {noise}", image_input="pixels"), found)
    write(found / "suites" / "small.json", suite())
    claims = [
        {"claim": "hardest-negative", "paper": "doe2020thing", "says": "Hard is better", "where": "Table 1",
         "metrics": [["R@1", "i2t"]], "entries": ["doe2020thing-table-1-01"]},
        {"claim": "other", "paper": "doe2020thing", "says": "Other", "where": "Figure 1"},
    ]  # fmt: skip
    write(found / "claims.json", claims)
    return found


def hostile(path: Path) -> Path:
    """A folder with all levels, whose names try to be HTML."""
    lines = records()
    for line in lines[:8]:
        line |= {"model": HOSTILE[0], "setting": HOSTILE[1], "note": HOSTILE[0]}
    folder(path, lines)
    report().save(path / "R.json")
    for i, name in enumerate(HOSTILE):
        add(path / "R.json", Model(name, name, name, "", name, (name,), name), path, f"hostile-{i}")
    summary = suite()
    summary["claims"][0]["parts"][0]["says"] = HOSTILE[0]
    summary["machine"] = {"platform": HOSTILE[0]}
    write(path / "suites" / "small.json", summary)
    claim = {"claim": "hardest-negative", "paper": "doe2020thing", "says": HOSTILE[0], "where": HOSTILE[1]}
    write(path / "claims.json", [claim])
    return path
