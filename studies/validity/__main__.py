"""Run the study, or draw its page again from the numbers.

python -m studies.validity                 all of it; writes the numbers, the figures and the page
python -m studies.validity --page          only the figures and the page, from the stored numbers
python -m studies.validity --quick --out FOLDER    a tiny world and few systems, to see that it works
python -m studies.validity --parts FOLDER  keep every measured system there: a run that was stopped goes on
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from studies.validity import document, figures, page

ROOT = Path(__file__).resolve().parents[2]
NUMBERS = Path("leaderboards/studies/metric_validity.json")
PAGES = Path("docs/studies")


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the numbers, the figures and the page below a folder, by default the repository."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tiny world and few systems")
    parser.add_argument("--page", action="store_true", help="only the figures and the page")
    parser.add_argument("--out", type=Path, help="folder; by default the repository, with --quick build/study")
    parser.add_argument("--parts", type=Path, help="folder of the systems measured so far, by the same code")
    given = parser.parse_args(arguments)
    out = given.out or (ROOT / "build" / "study" if given.quick else ROOT)
    started = time.perf_counter()

    def said(words: str) -> None:
        print(f"{time.perf_counter() - started:6.0f} s  {words}", file=sys.stderr, flush=True)

    if not given.page:
        size = document.QUICK if given.quick else document.FULL
        document.write(document.study(size, said, given.parts), out / NUMBERS)
    record = json.loads((out / NUMBERS).read_text(encoding="utf-8"))
    (out / PAGES).mkdir(parents=True, exist_ok=True)
    figures.write(record, out / PAGES)
    page.write(record, out / PAGES / "metric_validity.md", strict=not given.quick)
    said(f"written: {out / NUMBERS}, {out / PAGES / 'metric_validity.md'} and its figures")


if __name__ == "__main__":
    main()
