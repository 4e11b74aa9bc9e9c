"""Write the tables of papers in ``leaderboards/published`` from a CSV file, one row of it a number.

    python leaderboards/import_published.py published_results.csv

The columns of the CSV are seed_file, paper, table, dataset, split, model, setting, direction, metric, value, notes. It
was needed once: the files that it wrote are the source from then on, and corrections are made in them. It is kept so
that a reader can repeat how the numbers came here, and as the way to bring in the tables of another paper.
"""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path

from vsebench.leaderboard.published import ColumnHead, PrintedRow, PrintedTable, slug, text_of

FOLDER = Path(__file__).parent / "published"
PAPERS = {
    "Ladder loss / CVSE++": "zhou2020ladder",
    "VSE++": "faghri2018vsepp",
    "BCLS": "li2022bcls",
    "Deep Metric Learning Beyond Binary Supervision (log-ratio)": "kim2019beyond",
    "Is an image worth five sentences? (NCS/SAM)": "biten2022semantic",
}
METRICS = {
    "Med r": "MedR", "Mean R": "MeanR", "RSUM": "RSum", "Rsum": "RSum", "Kendall tau": "paper:Kendall",
    "Nsum": "paper:Nsum", "Nsum(N)": "paper:Nsum(N)", "Pearson": "paper:Pearson", "mAP@R": "eccv:mAP@R",
    "R-P": "eccv:R-P",
}  # fmt: skip
CAPTIONING = ("BLEU-4", "CIDEr-D", "METEOR", "ROUGE-L", "SPICE")
# (data set, split) -> test set. The papers of SAM do not say whether COCO 1K is one block; their code takes one.
BENCHMARKS = {
    ("MS-COCO", "1K (1000 test samples)"): "coco-1k-block",
    ("MS-COCO", "5K (5000 test samples)"): "coco-5k",
    ("MS-COCO", "1K"): "coco-1k",
    ("MS-COCO", "5-fold 1K"): "coco-1k",
    ("MS-COCO", "5K"): "coco-5k",
    ("Flickr30K", "1K"): "f30k",
    ("ECCV Caption", "test"): "eccv",
    ("MS-COCO (CxC)", "CxC SITS test"): "cxc-sits",
    ("MS-COCO", "Karpathy test (captioning)"): "coco-captioning",
}
DIRECTIONS = {"i2t": 0, "t2i": 1, None: 2}


def metric_of(name: str, benchmark: str) -> str:
    """The name of a printed metric here."""
    if benchmark == "eccv" and name == "R@1":
        return "eccv:R@1"
    if name in CAPTIONING or name.startswith("CS@"):
        return f"paper:{name}"
    return f"paper:NCS@{name[2:]}" if name.startswith("N@") else METRICS.get(name, name)


def note_of(text: str) -> str:
    """A note of the CSV as a reader needs it; notes that hold for a table are said there."""
    if lost := re.fullmatch(r"OCR dropped the decimal point in the seed \((.*)\)", text):
        return f"read as {lost[1]} in the extracted text of the paper; the decimal point is restored"
    text = re.sub(r"DOES NOT ADD UP", "does not add up", text.removeprefix("SUSPECT: "))
    return "" if text.startswith("captioning") else text


def depth(metric: str) -> int:
    """The k of a metric, 0 without one."""
    found = re.search(r"@(\d+)$", metric)
    return int(found[1]) if found else 0


def table_of(paper: str, table: str, lines: list[dict[str, str]]) -> PrintedTable:
    """One table from its lines of the CSV."""
    rows: dict[tuple[str, str, str], dict[tuple[str, str | None], tuple[str, str]]] = {}
    heads: list[tuple[str, str | None]] = []
    for line in lines:
        benchmark = BENCHMARKS[line["dataset"], line["split"]]
        one_block = PAPERS[paper] == "biten2022semantic" or "(1 fold)" in line["setting"]
        if benchmark == "coco-1k" and one_block:
            benchmark = "coco-1k-block"
        head = metric_of(line["metric"], benchmark), None if line["direction"] == "both" else line["direction"]
        heads += [] if head in heads else [head]
        rows.setdefault((benchmark, line["model"], line["setting"]), {})[head] = line["value"], note_of(line["notes"])
    stems = list(dict.fromkeys(metric.partition("@")[0] for metric, _ in heads))
    heads.sort(key=lambda head: (DIRECTIONS[head[1]], stems.index(head[0].partition("@")[0]), depth(head[0])))
    columns = tuple(ColumnHead(metric=metric, direction=direction) for metric, direction in heads)
    printed = []
    for (benchmark, model, setting), cells in rows.items():
        number = re.match(r"row ([\d.]+); ", setting)
        printed.append(
            PrintedRow(
                row=number[1] if number else "", model=model, benchmark=benchmark,
                setting=(setting[number.end() :] if number else setting).replace("trainset ", "training images "),
                cells=tuple(cells[head][0] if head in cells else None for head in heads),
                notes={c.key: cells[h][1] for c, h in zip(columns, heads, strict=True) if h in cells and cells[h][1]},
            )
        )  # fmt: skip
    notes = ["image captioning, not retrieval"] if columns[0].metric == "paper:BLEU-4" else []
    if PAPERS[paper] == "biten2022semantic" and any(row.benchmark == "coco-1k-block" for row in printed):
        notes.append("the paper does not say how COCO 1K is formed; its published code takes one block of 1,000 images")
    return PrintedTable(schema="vsebench/published/1", paper=PAPERS[paper], table=table, columns=columns,
                        rows=tuple(printed), notes=tuple(notes))  # fmt: skip


def main(source: Path, folder: Path = FOLDER) -> int:
    """Write all tables; returns the number of files."""
    with source.open(encoding="utf-8", newline="") as stream:
        lines = list(csv.DictReader(stream))
    names = list(dict.fromkeys((line["paper"], line["table"]) for line in lines))
    for paper, name in names:
        chosen = [line for line in lines if (line["paper"], line["table"]) == (paper, name)]
        table = table_of(paper, name, chosen)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{table.paper}-{slug(name)}.json").write_text(text_of(table), encoding="utf-8")
    return len(names)


if __name__ == "__main__":
    sys.stdout.write(f"{main(Path(sys.argv[1]))} tables in {FOLDER}\n")
