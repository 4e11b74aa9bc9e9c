"""What a report asks of a GPU, counted on the processor: it does not grow unseen, nor with the number of queries."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench as vb
from benchmarks import synthetic

pytest.importorskip("torch", reason="torch is not installed")
from benchmarks import launches

DIM = 64
# Upper limits by pass of operations and waits; counted were 195, 116 and 102 operations, and 9, 5 and 4 waits.
LIMITS = {"ranks and lists": (225, 11), "orders, i2t": (135, 6), "orders, t2i": (120, 6)}


def passes(images: int, **options: Any) -> dict[str, Any]:
    """The counts of a report with ranks, folds of items left out, shallow and deep orders."""
    world = synthetic.world(images, DIM)
    gains = np.random.default_rng(1).random((images, images * synthetic.CAPTIONS)).astype(np.float32)
    given: dict[str, Any] = {"captions_per_image": synthetic.CAPTIONS, "gains": gains, "ci": 0, "trust": True}
    given["metrics"] = "R@1,MedR,matrix:NCS@5,matrix:CS[captions=all]@100"
    with launches.counted() as found:
        report = vb.evaluate(world.images, world.captions, **given, **options)
    same = vb.evaluate(world.images, world.captions, **given, backend="numpy")
    assert [r.value for r in report.results] == [r.value for r in same.results]
    return found


def test_operations_waits_and_bytes_have_a_limit() -> None:
    images, captions = 300, 1500
    found = passes(images, threads=1)
    assert set(found) == set(LIMITS)
    for name, (operations, waits) in LIMITS.items():
        assert 0 < found[name]["operations"] <= operations, (name, found[name])
        assert 0 < found[name]["waits"] <= waits, (name, found[name])
    # To the device: the vectors once, and a few numbers of every pair and query. Back: three counts of every pair,
    # and of every place of an order 5 bytes.
    moved = sum((counts for counts in found.values()), start=type(found["orders, i2t"])())
    vectors = 4 * DIM * (images + captions)
    assert vectors <= moved["MiB to device"] * (1 << 20) <= vectors + 200 * (images + captions)
    pairs = 3 * 4 * 2 * captions
    assert moved["MiB to host"] * (1 << 20) <= pairs + 5 * 106 * (images + captions)
    # One product for the ranks of both directions, and one in float64 a direction.
    product = 2e-9 * images * captions * DIM
    assert moved["float32 Gflop"] == pytest.approx(product)
    assert moved["float64 Gflop"] == pytest.approx(2 * product)


def test_operations_do_not_grow_with_the_queries() -> None:
    """A launch takes microseconds whatever its size: six times the scores are one block and one tile all the same."""
    small, large = (passes(images, threads=1) for images in (120, 300))
    for name, counts in large.items():
        assert counts["operations"] <= 1.2 * small[name]["operations"] + 20, (name, small[name], counts)


def test_the_table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import backends

    monkeypatch.setattr("sys.argv", ["backends", "--count", "--images", "60"])
    backends.main()
    printed = capsys.readouterr().out
    assert "60 x 300, dim 1024" in printed and "not run on a GPU" in printed
    head, *rows, total = printed.splitlines()[-5:]
    assert head.split("  ")[0] == "pass" and [row.split("  ")[0] for row in rows] == list(LIMITS)
    assert total.startswith("all") and "float64 Gflop" in head
    monkeypatch.setattr("sys.argv", ["backends", "--count", "--images", "60", "--json"])
    backends.main()
    assert set(json.loads(capsys.readouterr().out)["passes"]) == set(LIMITS)


CHECKED = """#!{python}
import ast, sys
code = sys.argv[2] if sys.argv[1] == "-c" else sys.stdin.read() if sys.argv[1] == "-" else ""
for node in ast.walk(ast.parse(code)):  # what it imports is there
    if isinstance(node, ast.ImportFrom):
        for name in node.names:
            exec(f"from {{node.module}} import {{name.name}}")
print("CODE" if code else "MODULE " + sys.argv[2])
"""


def test_the_commands_for_the_first_gpu(tmp_path: Path) -> None:
    """The script is one of bash, and its Python is of this version of the library; nothing is computed."""
    python, root = tmp_path / "python", Path(__file__).parents[2]
    for name in ("python", "vsebench", "nvidia-smi"):
        file = tmp_path / name
        file.write_text(CHECKED.format(python=sys.executable) if name == "python" else "#!/bin/sh\necho COMMAND\n")
        file.chmod(0o755)
    path = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "PYTHON": str(python), "PYTHONPATH": str(root)}
    done = subprocess.run(
        ["bash", "benchmarks/first_gpu.sh"], cwd=root, env={**os.environ, **path}, capture_output=True, text=True,
        timeout=300,
    )  # fmt: skip
    errors = [line for line in done.stderr.splitlines() if not line.startswith(("ls: ", "cmp: "))]
    assert done.returncode == 0 and not errors, errors
    steps = done.stdout.split("\n== ")[1:]
    assert len(steps) > 12
    for step in steps:  # each says what it should print, and runs something
        assert "expected: " in step and any(word in step for word in ("CODE", "MODULE", "COMMAND")), step
