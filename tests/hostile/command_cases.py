"""Command lines with options that do not exist, do not fit, or name files that cannot be written."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.hostile import good
from tests.hostile.case import Case, Make
from tests.hostile.good import npz, pair, scores

X, Y = good.vectors()


def with_options(*more: str) -> Make:
    """Evaluate a good file with these options; ``{}`` stands for the folder."""
    return lambda folder: [*npz(folder), *(m.replace("{}", str(folder)) for m in more)]


def locked(folder: Path) -> list[str]:
    """An output folder that is a file."""
    (folder / "file").write_text("x")
    return [*npz(folder), "--per-query", str(folder / "file" / "q.csv")]


def metrics(text: str, code: int, message: str) -> Case:
    """A case about --metrics."""
    return Case(f"--metrics {text[:30]}", with_options("--metrics", text), code, message)


CASES = [
    metrics("R@1000000", 0, "warning: R@1000000: k is larger than a gallery of 60; everything counts as retrieved"),
    metrics("R@99999999999999999999", 2, "k of 'R@99999999999999999999' is beyond every gallery"),
    metrics("R@0", 2, "k of 'R@0' is '0'"),
    metrics("R@-1", 2, "k of 'R@-1' is '-1'"),
    metrics("R@1.5", 2, "k of 'R@1.5' is '1.5'"),
    metrics("R@", 2, "'R@' is not a metric name"),
    metrics("R", 2, "'R' needs a k"),
    metrics("R@１", 2, "k of 'R@１' is '１'"),
    metrics("mAP@K", 2, "unknown metric 'mAP@K'"),
    metrics("recal", 2, "unknown metric 'recal'"),
    metrics("", 2, "no metric is given"),
    metrics(",", 2, "no metric is given"),
    metrics("eccv", 2, "eccv:R@1: split 'custom' has no view 'eccv' (it has gt)"),
    metrics("cxc:R@1", 2, "cxc:R@1: split 'custom' has no view 'cxc' (it has gt)"),
    metrics("1k:R@1", 2, "1k:R@1: split 'custom' has no view '1k' (it has gt)"),
    metrics("nope:R@1", 2, "unknown view 'nope'"),
    metrics("[bold]x", 2, "'[bold]x' is not a metric name"),
    metrics("R@1:R@2", 2, "'R@1:R@2' is not a metric name"),
    metrics("../../etc/passwd", 2, "unknown metric '../../etc/passwd'"),
    *(
        Case(name, with_options(*more), 2, message)
        for name, more, message in (
            ("unknown split", ("--split", "coco5k"), "unknown split 'coco5k'"),
            ("unknown direction", ("--direction", "x2y"), "--direction is 'x2y'"),
            ("unknown similarity", ("--similarity", "euclid"), "--similarity is 'euclid'"),
            ("unknown tie rule", ("--ties", "random"), "unknown tie rule 'random'"),
            ("unknown empty rule", ("--no-positive", "zero"), "--no-positive is 'zero'"),
            ("unknown short rule", ("--short-lists", "pad"), "--short-lists is 'pad'"),
            ("sum of one direction", ("--metrics", "RSum", "--direction", "i2t"), "RSum is a sum over both directions"),
            (
                "captions per image for COCO",
                ("--split", "coco-5k", "--captions-per-image", "5"),
                "--captions-per-image has no meaning for split 'coco-5k'",
            ),
            ("per query without suffix", ("--per-query", "{}/q"), "q: per-query values are written as parquet or CSV"),
            (
                "per query of another kind",
                ("--per-query", "{}/q.xlsx"),
                "q.xlsx: per-query values are written as parquet or CSV",
            ),
            (
                "per query into a missing folder",
                ("--per-query", "{}/gone/q.csv"),
                "gone/q.csv: cannot be written: no such folder",
            ),
            (
                "output into a missing folder",
                ("--output", "{}/gone/r.json"),
                "gone/r.json: cannot be written: no such folder",
            ),
            ("output is a folder", ("--output", "{}"), "{}: cannot be written: it is a folder"),
            (
                "run into a missing folder",
                ("--save-run", "{}/gone/r.json"),
                "gone/r.json: cannot be written: no such folder",
            ),
            (
                "--texts on an npz",
                ("--texts", "{}/e.npz"),
                "e.npz: holds image and text vectors, so it is no file",
            ),
            ("FILE and --scores", ("--scores", "{}/e.npz"), "more than one of FILE, --scores and --run"),
            ("FILE and --run", ("--run", "{}/e.npz"), "more than one of FILE, --scores and --run"),
            ("--scores-key on embeddings", ("--scores-key", "scores"), "--scores-key has no meaning here"),
            (
                "output is an input",
                ("--output", "{}/e.npz"),
                "e.npz: cannot be written: it is an input of this command",
            ),
            (
                "two outputs of one name",
                ("--output", "{}/r.csv", "--per-query", "{}/r.csv"),
                "r.csv: cannot be written: it is named for two results",
            ),
        )
    ),
    Case("folder that is a file", locked, 2, "file/q.csv: cannot be written: no such folder"),
    Case(
        "unknown --image-key",
        with_options("--image-key", "img_embeddings"),
        3,
        "e.npz: has no array 'img_embeddings' (--image-key); it holds image_embeddings (60, 16)",
    ),
    Case(
        "one key for both",
        with_options("--image-key", "text_embeddings", "--text-key", "text_embeddings"),
        2,
        "e.npz: --image-key and --text-key both name 'text_embeddings'",
    ),
    Case(
        "f30k that is not built",
        with_options("--split", "f30k"),
        4,
        "split 'f30k' is not built here, and no package holds it",
    ),
    Case("nothing to evaluate", lambda f: ["eval"], 2, "nothing to evaluate"),
    Case(
        "an .npy without texts",
        lambda f: pair(f, X, Y)[:2],
        3,
        "images.npy: holds one array (60, 16); the text vectors are missing",
    ),
    Case(
        "--similarity on scores",
        lambda f: scores(f, X @ Y.T, "--similarity", "dot"),
        2,
        "--similarity has no meaning for a score matrix",
    ),
    Case(
        "--scores-key on an .npy",
        lambda f: scores(f, X @ Y.T, "--scores-key", "s"),
        2,
        "scores.npy: an .npy file holds a single array without a name",
    ),
    Case(
        "--texts on scores",
        lambda f: scores(f, X @ Y.T, "--texts", str(f / "scores.npy")),
        2,
        "--texts has no meaning here",
    ),
    Case("unknown metric to explain", lambda f: ["metrics", "nam"], 2, "unknown metric 'nam'"),
    Case("unknown split to build", lambda f: ["data", "build", "coco-9k"], 2, "unknown split 'coco-9k'"),
    Case(
        "split from nonsense",
        lambda f: ["data", "build", "coco-5k", "--force", "--from", npz(f)[1]],
        3,
        "e.npz: this is a zip archive",
    ),
    Case("demo into a file", lambda f: ["demo", "--out", npz(f)[1]], 2, "e.npz: is a file, not a folder"),
    Case(
        "inspect of NaN",
        lambda f: ["inspect", npz(f, **good.spoiled("image", 7, np.nan))[1]],
        3,
        "e.npz: image row 7 (id 1007) holds nan in column 3",
    ),
]
