"""``python -m tools.same_digits OLD NEW``: are the numbers of two checkouts equal to the last bit?

Each checkout runs the cases of ``same_digits_cases.txt`` through the Python API, in its own process and on the same
files, and dumps named numbers: values, interval bounds, p-values. Arrays (per-query values, influences, ranked lists,
gradients) are dumped as a hash. The driver prints the names whose numbers differ or that one checkout lacks.

If the API changes, edit ``New``; ``Old`` says what the other checkout calls it. Nothing else depends on names.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np


class New:
    """The names of the new checkout: command lines, functions, arguments, columns of tables, and where arrays are."""

    cache = ("data build f30k --from data/f30k/test.jsonl", *(  # command lines that fill the cache
        f"spice --from data/spice/{name}.tuples.jsonl.gz --synsets data/spice/synsets.tsv.gz --split {split}"
        for name, split in (("coco5k", "coco-5k"), ("f30k_test", "f30k"))))  # fmt: skip
    functions: ClassVar[dict[str, str]] = {}  # function of a case -> its name in the package
    arguments: ClassVar[dict[str, str]] = {}  # argument of a case -> its name in the package
    columns: ClassVar[dict[str, str]] = {}  # column of a table -> its name in the dump; "" leaves it out

    def call(self, function: str, *args: Any, **options: Any) -> Any:
        import vsebench

        options = {self.arguments.get(name, name): value for name, value in options.items()}
        return getattr(vsebench, self.functions.get(function, function))(*args, **options)

    def numbers(self, result: Any) -> Iterator[tuple[str, Any]]:
        if not hasattr(result, "results"):  # a comparison, slices, ...: tables by name
            return iter(result.to_dict()["tables"].items())
        arrays = ("ties", "queries", "per_query", "influence")
        every = [(f"{r.metric} {r.direction}", r, arrays) for r in (*result.results, *result.parts)]
        every += [(f"lists {top.direction}", top, ("items", "scores", "gains")) for top in result.lists]
        return iter([("", result.records()), *((f"{n}.{a}", getattr(x, a)) for n, x, names in every for a in names)])

    def losses(self) -> Iterator[tuple[str, Any, bool]]:
        from train_reference.losses import get_loss, loss_names

        return ((name, get_loss(name).function, get_loss(name).needs_degree) for name in loss_names())


class Old(New):
    """What has another name in the old checkout."""

    cache = tuple(line.replace("spice --from", "spice import") for line in New.cache)

    def call(self, function: str, *args: Any, **options: Any) -> Any:
        return super().call(function if options.pop("tests", True) else "joint", *args, **options)


def numbers(place: str, value: Any, columns: dict[str, str]) -> Iterator[tuple[str, Any]]:
    """The numbers of a record, table or array by their names; the texts of a record are part of its name."""
    if isinstance(value, np.ndarray) and value.size > 2:
        raw = np.ascontiguousarray(value).tobytes()
        yield place, [hashlib.sha256(f"{value.dtype}".encode() + raw).hexdigest()[:16], value.size]
    elif isinstance(value, (list, tuple, np.ndarray)):
        seen: dict[str, int] = {}
        for n, item in enumerate(value):
            held = item if isinstance(item, dict) else {}
            name = " ".join(x for key, x in held.items() if isinstance(x, str) and columns.get(key, key)) or f"{n}"
            seen[name] = seen.get(name, 0) + 1
            yield from numbers(f"{place}[{name}{'' if seen[name] == 1 else f' #{seen[name]}'}]", item, columns)
    elif isinstance(value, dict):
        for key, item in value.items():
            if name := columns.get(key, key):
                yield from numbers(f"{place}.{name}", item, columns)
    elif isinstance(value, (bool, int, float, np.number)):
        yield place, value.item() if isinstance(value, np.number) else value


def train_steps(adapter: New) -> Iterator[tuple[str, Any]]:
    """Values and gradients of every loss on one batch in float64, in which some pairs have a second positive."""
    import torch

    rng = np.random.default_rng(0)
    scores = torch.tensor(rng.uniform(-1, 1, (24, 24)), requires_grad=True)
    positive = torch.tensor(np.kron(np.diag(np.arange(12) % 3 > 0), np.ones((2, 2))) + np.eye(24) > 0)
    degree = torch.tensor(np.round(rng.uniform(-1, 1, (24, 24)), 2)).fill_diagonal_(1)
    for name, function, graded in adapter.losses():
        for reduction in ("sum", "mean"):
            value = function(scores, positive, reduction=reduction, **({"degree": degree} if graded else {}))
            yield f"{name} {reduction}", value.item()
            yield f"{name} {reduction}.gradient", torch.autograd.grad(value, scores)[0].numpy()


def dump(adapter: New, patterns: list[str]) -> None:
    """Run cases in the working folder; prints a line of JSON for each: its name, its CPU seconds, and its numbers."""
    import vsebench

    if Path(vsebench.__file__).parents[1] != Path(os.environ["PYTHONPATH"]):
        sys.exit(f"vsebench is imported from {vsebench.__file__}")
    for line in adapter.cache:
        subprocess.run([sys.executable, "-m", "vsebench", *line.split()], check=True, stdout=subprocess.DEVNULL)

    def value(word: str) -> Any:
        with contextlib.suppress(ValueError):
            return json.loads(word)
        return word

    text = Path(__file__).with_name("same_digits_cases.txt").read_text("utf-8")
    cases = [line.split() for line in text.splitlines() if line[:1] not in ("", "#")]
    asked = [c for c in cases if any(fnmatch.fnmatch(c[0], p) for p in patterns)]
    wanted, results = {c[0] for c in asked} | {w[1:] for c in asked for w in c if w[0] == "@"}, dict[str, Any]()
    for case, function, *words in (c for c in cases if c[0] in wanted):
        started, options, args = time.process_time(), dict[str, Any](), list[Any]()
        reports = {w[1:]: results.get(w[1:]) for w in words if w[0] == "@"}
        for word in words:
            if found := re.match("([a-z_]+)=(.*)", word):
                options[found[1]] = value(found[2])
            elif word[0] != "@":
                args.append(value(word))
        try:
            if function != "losses":
                results[case] = adapter.call(function, *([reports] if reports else []), *args, **options)
            held = adapter.numbers(results[case]) if case in results else train_steps(adapter)
            dumped = dict(n for name, x in held for n in numbers(f"{case} {name}", x, adapter.columns))
        except Exception as error:
            dumped = {case: f"{type(error).__name__}: {error}"}
        print(json.dumps([case, round(time.process_time() - started, 1), dumped]), flush=True)


def start(
    side: str, checkout: Path, inputs: Path, data: Path, patterns: list[str]
) -> tuple[Path, subprocess.Popen[Any]]:
    """Start the cases of a checkout in a folder beside the inputs, which gets their output and errors."""
    (at := inputs.with_name(side)).mkdir()
    (at / "in").symlink_to(inputs)
    (at / "data").symlink_to(data)
    own = {"PYTHONPATH": f"{checkout.resolve()}", "VSEBENCH_CACHE": "cache", "NUMBA_CACHE_DIR": f"{at / 'numba'}"}
    own |= dict.fromkeys(("PYTHONSAFEPATH", "VSEBENCH_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    words = [sys.executable, __file__, ".", ".", "--dump", side, "--only", *patterns]
    with (at / "log").open("w") as log, (at / "out").open("w") as out:
        return at, subprocess.Popen(words, cwd=at, stdout=out, stderr=log, env=os.environ | own)


def main() -> int:
    """Run both checkouts at the same time, and compare their numbers; returns 1 if any differ or a case fails."""
    parser = argparse.ArgumentParser(prog="python -m tools.same_digits", description="Compare two checkouts.")
    parser.add_argument("old", type=Path, help="a checkout")
    parser.add_argument("new", type=Path, help="another")
    parser.add_argument("--only", nargs="+", default=["*"], metavar="NAME", help="these cases, as in 'labels*'")
    parser.add_argument("--dump", choices=("Old", "New"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.dump:
        dump(globals()[given.dump](), given.only)
        return 0
    from tools.same_digits_inputs import make_real, make_small

    if not os.environ.get("VSEBENCH_TEST_DATA"):
        parser.error("set VSEBENCH_TEST_DATA to the folder of the test data")
    data, dumps = Path(os.environ["VSEBENCH_TEST_DATA"]).resolve(), []
    with tempfile.TemporaryDirectory(prefix="same-digits-") as folder:
        (inputs := Path(folder, "in")).mkdir()
        make_real(data, inputs)
        make_small(data, inputs)
        sides = [start(side, root, inputs, data, given.only) for side, root in (("Old", given.old), ("New", given.new))]
        for at, process in sides:
            if process.wait():
                for _, other in sides:
                    other.kill()
                sys.exit(f"{at.name}: {(at / 'log').read_text()[-2000:]}")
            dumps.append([json.loads(line) for line in (at / "out").read_text().splitlines()])
    old, new = ({name: value for *_, found in cases for name, value in found.items()} for cases in dumps)
    names = list(dict.fromkeys((*old, *new)))
    equal = [new[name] for name in names if repr(old.get(name)) == repr(new.get(name))]
    for name in names:
        if repr(old.get(name)) != repr(new.get(name)) or isinstance(new[name], str):
            print(f"{name}: {old.get(name, 'missing')} -> {new.get(name, 'missing')}")
    arrays = [value[1] for value in equal if isinstance(value, list)]
    failed, seconds = sum(isinstance(v, str) for v in new.values()), sum(cost for _, cost, _ in dumps[1])
    print(f"{len(dumps[1])} cases, {failed} failed, {seconds:.0f} CPU seconds")
    print(f"{len(equal):,} of {len(names):,} equal, {len(arrays):,} hashes of {sum(arrays):,} numbers among them")
    return int(len(equal) < len(names) or failed > 0)


if __name__ == "__main__":
    sys.exit(main())
