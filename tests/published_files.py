"""Files in the layouts in which test sets are published, made by a program: the numbers are right, words not."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable
from pathlib import Path


def write(path: Path, lines: Iterable[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def table(path: Path, header: list[str], rows: Iterable[list[str]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([header, *rows])
    return path


def xm3600(folder: Path, languages: tuple[str, ...]) -> None:
    def line(i: int) -> str:
        spoken = {
            name: {"caption": [f"{name} {i} {j}" for j in range(1 + i % 2)], "caption/tokenized": ["x"]}
            for name in languages
        }
        return json.dumps({"image/key": f"{i:016x}", "image/locale": "de", **spoken})

    write(folder / "captions.jsonl", map(line, range(3600)))


def xtd10(folder: Path) -> None:
    write(folder / "XTD10" / "test_image_names.txt", (f"COCO_val2014_{i:012}.jpg" for i in range(1000)))
    for inside, language in (("XTD10", "it"), ("MIC", "de"), ("STAIR", "jp")):
        write(folder / inside / f"test_1kcaptions_{language}.txt", (f"{language} {i}" for i in range(1000)))


def urban1k(folder: Path) -> None:
    for i in range(1, 1001):
        write(folder / "Urban1k" / "caption" / f"{i}.txt", [f"a street {i}, with a house. ", "", "a second paragraph"])


def msrvtt(folder: Path) -> None:
    rows = ([f"ret{i}", f"msr{9000 - i}", f"video{9000 - i}", f"a man, number {i}"] for i in range(1000))
    table(folder / "MSRVTT_JSFUSION_test.csv", ["key", "vid_key", "video_id", "sentence"], rows)


def msvd(folder: Path) -> None:
    clips = [f"-4ws_{i}_{i + 5}" for i in range(700)]
    write(folder / "test_list.txt", clips[30:])
    described = (f"{clip} a cat {j} plays" for j in range(3) for clip in clips if j < 2 or clip[-1] == "7")
    write(folder / "AllVideoDescriptions.txt", ["# The corpus", "", *described])


def clotho(folder: Path) -> None:
    rows = ([f"Rain {i}.wav", *(f"rain, number {i} {j}" for j in range(5))] for i in range(1045))
    table(folder / "clotho_captions_evaluation.csv", ["file_name", *(f"caption_{i}" for i in range(1, 6))], rows)


def audiocaps(folder: Path) -> None:
    rows = [[str(100_000 - i), f"y-{i % 975}", "30", f"a bell {i}"] for i in range(4875)]
    table(folder / "dataset" / "test.csv", ["audiocap_id", "youtube_id", "start_time", "caption"], rows)


MAKE: dict[str, Callable[[Path], None]] = {
    "xm3600:sw": lambda folder: xm3600(folder, ("sw", "quz")),
    "xtd10:jp": xtd10,
    "urban1k": urban1k,
    "msrvtt-1k": msrvtt,
    "msvd": msvd,
    "clotho": clotho,
    "audiocaps": audiocaps,
}
