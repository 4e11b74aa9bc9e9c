"""Command lines that ask for what does not exist, does not fit, or cannot be written."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.hostile import good
from tests.hostile.case import Case
from tests.hostile.good import npz, pair, scores

X, Y = good.vectors()


def ask(*more: str) -> object:
    """Evaluate a good file with these options; ``{}`` stands for the folder."""
    return lambda folder: [*npz(folder), *(m.replace("{}", str(folder)) for m in more)]


def locked(folder: Path) -> list[str]:
    """An output folder that is a file."""
    (folder / "file").write_text("x")
    return [*npz(folder), "--per-query", str(folder / "file" / "q.csv")]


def metrics(text: str, code: int = 2, says: str = "?") -> Case:
    """A case about --metrics."""
    return Case(f"--metrics {text[:30]}", ask("--metrics", text), code, says)  # type: ignore[arg-type]


CASES = [
    metrics("R@1000000", 0),
    metrics("R@99999999999999999999"),
    metrics("R@0"),
    metrics("R@-1"),
    metrics("R@1.5"),
    metrics("R@"),
    metrics("R"),
    metrics("R@１"),
    metrics("mAP@K"),
    metrics("recal"),
    metrics(""),
    metrics(","),
    metrics("eccv"),
    metrics("cxc:R@1"),
    metrics("1k:R@1"),
    metrics("nope:R@1"),
    metrics("[bold]x"),
    metrics("R@1:R@2"),
    metrics("../../etc/passwd"),
    *(
        Case(name, ask(*more), 2, "?")  # type: ignore[arg-type]
        for name, more in (
            ("unknown split", ("--split", "coco5k")),
            ("unknown direction", ("--direction", "x2y")),
            ("unknown similarity", ("--similarity", "euclid")),
            ("unknown tie rule", ("--ties", "random")),
            ("unknown empty rule", ("--no-positive", "zero")),
            ("unknown short rule", ("--short-lists", "pad")),
            ("sum of one direction", ("--metrics", "RSum", "--direction", "i2t")),
            ("captions per image for COCO", ("--split", "coco-5k", "--captions-per-image", "5")),
            ("per query without suffix", ("--per-query", "{}/q")),
            ("per query of another kind", ("--per-query", "{}/q.xlsx")),
            ("per query into a missing folder", ("--per-query", "{}/gone/q.csv")),
            ("output into a missing folder", ("--output", "{}/gone/r.json")),
            ("output is a folder", ("--output", "{}")),
            ("run into a missing folder", ("--save-run", "{}/gone/r.json")),
            ("--texts on an npz", ("--texts", "{}/e.npz")),
            ("FILE and --scores", ("--scores", "{}/e.npz")),
            ("FILE and --run", ("--run", "{}/e.npz")),
            ("--score-key on embeddings", ("--score-key", "scores")),
            ("output is an input", ("--output", "{}/e.npz")),
            ("two outputs of one name", ("--output", "{}/r.csv", "--per-query", "{}/r.csv")),
        )
    ),
    Case("folder that is a file", locked, 2, "?"),
    Case("unknown --image-key", ask("--image-key", "img_embeddings"), 3, "?"),  # type: ignore[arg-type]
    Case("one key for both", ask("--image-key", "text_embeddings", "--text-key", "text_embeddings"), 2, "?"),  # type: ignore[arg-type]
    Case("f30k that is not built", ask("--split", "f30k"), 4, "?"),  # type: ignore[arg-type]
    Case("nothing to evaluate", lambda f: ["eval"], 2, "?"),
    Case("an .npy without texts", lambda f: pair(f, X, Y)[:2], 3, "?"),
    Case("--similarity on scores", lambda f: scores(f, X @ Y.T, "--similarity", "dot"), 2, "?"),
    Case("--score-key on an .npy", lambda f: scores(f, X @ Y.T, "--score-key", "s"), 2, "?"),
    Case("--texts on scores", lambda f: scores(f, X @ Y.T, "--texts", str(f / "scores.npy")), 2, "?"),
    Case("unknown metric to explain", lambda f: ["metrics", "nam"], 2, "?"),
    Case("unknown split to build", lambda f: ["data", "build", "coco-9k"], 2, "?"),
    Case("split from nonsense", lambda f: ["data", "build", "coco-5k", "--force", "--from", npz(f)[1]], 3, "?"),
    Case("demo into a file", lambda f: ["demo", "--out", npz(f)[1]], 2, "?"),
    Case("inspect of NaN", lambda f: ["inspect", npz(f, **good.spoiled("image", 7, np.nan))[1]], 3, "?"),
]
