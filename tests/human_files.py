"""Small files of human judgements for tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

TOKEN = """\
a.jpg#0\tA dog runs over the grass .
a.jpg#1\tThe brown dog is running .
b.jpg#0\tTwo men play chess in a park .
b.jpg#1\tTwo people sit at a table .
c.jpg.1#0\tA child climbs a tree .
c.jpg.1#1\tA dog runs over the grass .
"""
EXPERT = """\
a.jpg\tb.jpg#0\t1\t1\t2
a.jpg\tc.jpg#1\t4\t4\t4
a.jpg\tc.jpg#0\t1\t2\t3
b.jpg\tb.jpg#1\t4\t3\t4
b.jpg\ta.jpg#0\t1\t1\t1
c.jpg\ta.jpg#1\t2\t3\t2
c.jpg\tb.jpg#1\t2\t1\t1
"""
CROWD = """\
a.jpg\ta.jpg#0\t1\t3\t0
a.jpg\tb.jpg#0\t0\t0\t3
b.jpg\ta.jpg#1\t0.333333333333\t1\t2
b.jpg\tc.jpg#0\t0\t0\t3
c.jpg\tc.jpg#0\t1\t4\t0
c.jpg\tb.jpg#1\t0.25\t1\t3
"""


def flickr8k(folder: Path, token: str = TOKEN, expert: str = EXPERT, crowd: str = CROWD) -> Path:
    """A folder with the three files of Flickr8k: three images, two captions each."""
    folder.mkdir(exist_ok=True)
    for name, text in (
        ("Flickr8k.token.txt", token),
        ("ExpertAnnotations.txt", expert),
        ("CrowdFlowerAnnotations.txt", crowd),
    ):
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def image(number: int) -> str:
    """An image as CxC writes it."""
    return f"COCO_val2014_{number:012d}.jpg"


def caption(number: int) -> str:
    """A caption as CxC writes it."""
    return f"COCO_val2014:sentid:{number}"


def cxc(folder: Path, task: str, rows: Sequence[tuple[str, str, float, str]]) -> Path:
    """A file of CxC; returns its path."""
    head = {"sits": "caption,image", "sts": "caption1,caption2", "sis": "image1,image2"}[task]
    folder.mkdir(exist_ok=True)
    path = folder / f"{task}_test.csv"
    lines = [f"{head},agg_score,sampling_method", *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
