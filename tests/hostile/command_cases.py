"""Command lines with options that do not exist, do not fit, or name files that cannot be written."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.hostile import good
from tests.hostile.good import Case, Make, npz, pair, scores

X, Y = good.vectors()


def with_options(*more: str) -> Make:
    """Evaluate a good file with these options; ``{}`` stands for the folder."""
    return lambda folder: [*npz(folder), *(m.replace("{}", str(folder)) for m in more)]


def locked(folder: Path) -> list[str]:
    (folder / "file").write_text("x")
    return [*npz(folder), "--per-query", str(folder / "file" / "q.csv")]


def metrics(text: str, code: int = 2) -> Case:
    return Case(f"--metrics {text[:30]}", with_options("--metrics", text), code=code)


METRICS = """
R@99999999999999999999 R@0 R@-1 R@1.5 R@ R R@１ mAP@K recal , eccv cxc:R@1 1k:R@1 nope:R@1 [bold]x R@1:R@2
../../etc/passwd
"""
CASES = [
    metrics("R@1000000", 0),
    *map(metrics, ["", *METRICS.split()]),
    *(
        Case(name, with_options(*more), code=2)
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
            ("--key scores on embeddings", ("--key", "scores=scores")),
            ("output is an input", ("--output", "{}/e.npz")),
            ("two outputs of one name", ("--output", "{}/r.csv", "--per-query", "{}/r.csv")),
        )
    ),
    Case("folder that is a file", locked, code=2),
    Case("unknown --key image", with_options("--key", "image=img_embeddings")),
    Case("one key for both", with_options("--key", "image=text_embeddings", "--key", "text=text_embeddings"), code=2),
    Case("f30k that is not built", with_options("--split", "f30k"), code=4),
    Case("nothing to evaluate", lambda f: ["eval"], code=2),
    Case("an .npy without texts", lambda f: pair(f, X, Y)[:2]),
    Case("--similarity on scores", lambda f: scores(f, X @ Y.T, "--similarity", "dot"), code=2),
    Case("--key scores on an .npy", lambda f: scores(f, X @ Y.T, "--key", "scores=s"), code=2),
    Case("--texts on scores", lambda f: scores(f, X @ Y.T, "--texts", str(f / "scores.npy")), code=2),
    Case("unknown metric to explain", lambda f: ["metrics", "nam"], code=2),
    Case("unknown split to build", lambda f: ["data", "build", "coco-9k"], code=2),
    Case("split from nonsense", lambda f: ["data", "build", "coco-5k", "--replace", "--from", npz(f)[1]]),
    Case("demo into a file", lambda f: ["demo", "--out", npz(f)[1]], code=2),
    Case("inspect of NaN", lambda f: ["inspect", npz(f, **good.spoiled("image", 7, np.nan))[1]]),
]
