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


def document(folder: Path, name: str, content: object) -> None:
    write(folder / name, [json.dumps(content)])


def msrvtt_full(folder: Path) -> None:
    videos = [{"video_id": f"video{i}", "split": "test" if i >= 10 else "train"} for i in range(3000)]
    sentences = [
        {"sen_id": 9 + i, "video_id": f"video{i % 3000}", "caption": f"a man {i}"} for i in range(20 * len(videos))
    ]
    document(folder, "MSRVTT_data.json", {"info": {}, "videos": videos, "sentences": sentences})


def didemo(folder: Path) -> None:
    lines = ({"annotation_id": i, "video": f"v_{i % 1004}.mp4", "description": f"d{i}"} for i in range(2008))
    document(folder, "test_data.json", list(lines))


def vatex(folder: Path) -> None:
    lines = ({"videoID": f"y{i}_0_10", "enCap": [f"e{i} {j}" for j in range(10)], "chCap": []} for i in range(4))
    document(folder, "vatex_validation_v1.0.json", list(lines))


def docci(folder: Path) -> None:
    parts = ["train"] * 5 + ["test"] * 5000 + ["qual_dev"]
    lines = ({"split": p, "image_file": f"{p}_{i}.jpg", "description": f"d{i}"} for i, p in enumerate(parts))
    write(folder / "docci_descriptions.jsonlines", map(json.dumps, lines))


def dci(folder: Path) -> None:
    names = [f"sa_{i}.json" for i in range(7805)]
    document(folder / "densely_captioned_images", "splits.json", {"train": names[100:], "test": names[:100]})
    for name in names:
        record = {"image": name.replace(".json", ".jpg"), "short_caption": "a town", "extra_caption": f"in {name} "}
        document(folder / "densely_captioned_images" / "annotations", name, record)


def sharegpt4v(folder: Path) -> None:
    lines = (
        {"image": f"coco/{i}.jpg", "conversations": [{"from": "human", "value": "what?"}, {"value": f"a dog {i}"}]}
        for i in range(1005)
    )
    document(folder, "share-captioner_coco_lcs_sam_1246k_1107.json", list(lines))


def karpathy(folder: Path, name: str, count: int) -> None:
    def image(i: int) -> object:
        said = [{"raw": f"a port {i} {j} .", "tokens": []} for j in range(5)]
        return {"filename": f"port_{i}.tif", "split": "test" if i < count else "train", "sentences": said}

    document(folder, name, {"dataset": "x", "images": [image(i) for i in range(count + 3)]})


def cuhk(folder: Path) -> None:
    def image(i: int) -> object:
        captions = [f"he {i} {j}" for j in range(10 if not i else 2)]
        return {"split": "test" if i < 3074 else "val", "captions": captions, "file_path": f"cam/{i}.png", "id": i // 3}

    document(folder, "reid_raw.json", [image(i) for i in range(3080)])


def multi30k(folder: Path) -> None:
    write(folder / "image_splits" / "test_2016_flickr.txt", (f"{1000 + i}.jpg" for i in range(1000)))
    for language in ("de", "cs"):
        write(folder / "raw" / f"test_2016_flickr.{language}", (f"{language} {i}" for i in range(1000)))


MAKE: dict[str, Callable[[Path], None]] = {
    "xm3600:sw": lambda folder: xm3600(folder, ("sw", "quz")),
    "xtd10:jp": xtd10,
    "urban1k": urban1k,
    "msrvtt-1k": msrvtt,
    "msvd": msvd,
    "clotho": clotho,
    "audiocaps": audiocaps,
    "msrvtt-full": msrvtt_full,
    "didemo": didemo,
    "vatex": vatex,
    "docci": docci,
    "dci": dci,
    "sharegpt4v-1k": sharegpt4v,
    "rsicd": lambda folder: karpathy(folder, "dataset_rsicd.json", 1093),
    "rsitmd": lambda folder: karpathy(folder, "dataset_RSITMD.json", 452),
    "cuhk-pedes": cuhk,
    "multi30k:cs": multi30k,
}
