"""``python -m benchmarks.scale``: large galleries: top-1000 lists with exact ranks, and large mapped files."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from . import harness
from .bench import Bench, Row, parser, positive, print_comparisons
from .check import Comparison
from .harness import MIB, Usage

QUERIES, DEPTH = 2_000, 1_000
SIZES = (50_000, 100_000, 200_000)
LARGE, EACH = 25_000, 40  # images of the large files, and captions of each
OWN_GOAL = 1024  # MiB that the process takes at most, without the pages of the files
BLOCK = 20_000  # candidates whose scores the floor makes together
NOISE = 4.0  # length of the noise by that of the signal, so that ranks are spread over the gallery

Array = npt.NDArray[Any]


def gallery(n: int, dim: int, seed: int = 0) -> Array:
    """(n, dim) float32 random unit vectors."""
    vectors = np.random.default_rng(seed).standard_normal((n, dim), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def queries(candidates: Array, n: int, seed: int = 1) -> tuple[Array, Array]:
    """(n, dim) float32 unit vectors near (n,) random candidates, one each."""
    rng = np.random.default_rng(seed)
    positive = np.sort(rng.choice(len(candidates), n, replace=len(candidates) < n))
    noise = rng.standard_normal((n, candidates.shape[1]), dtype=np.float32)
    vectors = candidates[positive] + NOISE / candidates.shape[1] ** 0.5 * noise
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors, positive


class Floor:
    """F: the float32 product of all queries with all candidates, in blocks of candidates into one array."""

    def __init__(self, left: Array, right: Array):
        self.left, self.right = left, right
        self.out = np.zeros((len(left), min(BLOCK, len(right))), np.float32)
        self.measure()

    def measure(self) -> tuple[float, float]:
        """Wall and CPU seconds."""

        def work() -> None:
            for start in range(0, len(self.right), BLOCK):
                part = self.right[start : start + BLOCK]
                np.matmul(self.left, part.T, out=self.out[:, : len(part)])

        return harness.timed(work)[:2]


def ours(left: Array, right: Array, positive: Array, depth: int, backend: str = "numpy") -> Callable[[], Any]:
    """The top of every ranking, and the exact rank of the positive of every query."""
    from vsebench.rank import backends
    from vsebench.rank.count import Targets
    from vsebench.rank.observe import observe
    from vsebench.rank.scorers import Dot
    from vsebench.types import Relevance

    n = len(left)
    relevance = Relevance("gt", "i2t", np.arange(n), np.arange(n + 1), positive, np.zeros(n, np.int64))
    ranker = backends.ranker(backend)

    def work() -> Any:
        return observe(
            Dot(left, right), [Targets("gt", relevance)], depth={"i2t": depth}, scan=ranker.scan, order=ranker.order
        )["i2t"]

    return work


def of_faiss(left: Array, right: Array, depth: int) -> Callable[[], Any]:
    """The top of every ranking by the flat index of FAISS, which has no ranks beyond it; ImportError without it."""
    from vsebench.rank.faiss_index import package

    faiss = package()  # with the kernels of numpy's BLAS
    index = faiss.IndexFlatIP(right.shape[1])
    index.add(right)
    return lambda: index.search(left, depth)


def inside(what: str, n: int, dim: int, repeats: int) -> Usage:
    """Measure ``ours`` or ``faiss`` in this process."""
    right = gallery(n, dim)
    left, positive = queries(right, QUERIES)
    make: dict[str, Callable[[], Callable[[], Any]]] = {
        "ours": lambda: ours(left, right, positive, DEPTH),
        "faiss": lambda: of_faiss(left, right, DEPTH),
    }
    warm = ours(left[:50], right[:2000], positive[:50] % 2000, 10)
    warm()  # kernels are loaded before the memory is measured
    work = make[what]()
    added = harness.added_mib(work)
    used = harness.interleaved(lambda: bool(work()), Floor(left, right), repeats)
    return Usage(used.seconds, used.cpu, used.floor, used.floor_cpu, used.ratio, added, repeats=repeats)


def growth(bench: Bench, sizes: Sequence[int], dim: int) -> None:
    """Add rows of every size of the gallery."""
    for n in sizes:
        bench.goals = n >= SIZES[-1] and dim >= 1024 and not bench.quick
        bench.add(Row(f"-- {QUERIES:,} queries x {n:,} candidates, dim {dim}, top {DEPTH:,}"))
        arguments = [str(n), str(dim), str(bench.repeats)]
        found = Usage(**harness.child("scale", "--inside", "ours", *arguments))
        bench.floor(found)
        bench.against_floor("lists and exact ranks", found, 1.15)
        bench.memory("  memory over the vectors", found.added_mib)
        try:
            peer = Usage(**harness.child("scale", "--inside", "faiss", *arguments))
        except RuntimeError as error:
            bench.notes.append(f"faiss row left out: {str(error).splitlines()[-1][:120]}")
            continue
        bench.against_floor("faiss: lists", peer)
        times = peer.ratio / found.ratio
        bench.add(Row("  its time over ours", ratio=times, unit="x"), ">= 1 x", times >= 1)


def large(bench: Bench, images: int, dim: int, folder: Path) -> None:
    """Add rows of ``vsebench eval`` on files that are mapped."""
    paths, scores = write(folder, images, dim), images * images * EACH
    bytes_ = sum(path.stat().st_size for path in paths)
    bench.add(Row(f"-- {images:,} images x {EACH * images:,} captions, dim {dim}, {bytes_ / MIB:,.0f} MiB"))
    command = [sys.executable, "-m", "vsebench", "eval", *map(str, paths), "--captions-per-image", str(EACH)]
    command += ["--metrics", "recall", "--json", "--no-progress", "--no-per-query"]
    seconds, cpu, own, resident = watched(command)
    bench.add(Row("command: vsebench eval, exact ranks of both directions", seconds, cpu))
    bench.add(Row("  its own memory at most", mib=own), f"<= {OWN_GOAL:,} MiB", own <= OWN_GOAL)
    bench.add(Row("  resident, with pages of mapped files", mib=resident))
    part = gallery(BLOCK, dim)
    floor = Floor(queries(part, QUERIES)[0], part)
    once = sorted(floor.measure() for _ in range(3))[1]
    scale = scores / (BLOCK * QUERIES)
    bench.add(Row("  F (E)", once[0] * scale, once[1] * scale, 1.0, 1.0, "F"))
    ratios = seconds / (once[0] * scale), cpu / (once[1] * scale)
    bench.add(Row("  the command over F", ratio=ratios[0], cpu_ratio=ratios[1], unit="F"))
    bench.notes.append(f"F (E): from {QUERIES:,} x {BLOCK:,} scores; the command also reads and checks the file")


def write(folder: Path, images: int, dim: int) -> tuple[Path, Path]:
    """Two .npy files of float32 vectors, made in blocks; ``EACH`` captions are near every image."""
    rng = np.random.default_rng((0, 1))  # other numbers than those of the images
    paths = folder / "images.npy", folder / "captions.npy"
    vectors = gallery(images, dim)
    np.save(paths[0], vectors)
    captions = np.lib.format.open_memmap(paths[1], "w+", np.float32, (EACH * images, dim))
    for start in range(0, images, BLOCK // EACH):
        near = np.repeat(vectors[start : start + BLOCK // EACH], EACH, axis=0)
        noise = rng.standard_normal(near.shape, dtype=np.float32)
        captions[EACH * start : EACH * start + len(near)] = near + NOISE / dim**0.5 * noise
    return paths


def watched(command: Sequence[str]) -> tuple[float, float, float, float]:
    """Wall and CPU seconds of a command, and the peaks of its own and of its resident memory in MiB.

    Raises:
        RuntimeError: it failed.
    """
    import resource

    peaks, started = [0.0, 0.0], time.perf_counter()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, cwd=harness.ROOT)

        def watch() -> None:
            while child.poll() is None:
                try:
                    lines = Path(f"/proc/{child.pid}/status").read_text().splitlines()
                except OSError:
                    return
                fields = dict(line.split(":", 1) for line in lines if line.startswith("Rss"))
                mib = {name: int(value.split()[0]) / 1024 for name, value in fields.items()}
                own = mib.get("RssAnon", 0.0) + mib.get("RssShmem", 0.0)
                peaks[:] = max(peaks[0], own), max(peaks[1], sum(mib.values()))
                time.sleep(0.02)

        thread = threading.Thread(target=watch)
        thread.start()
        code = child.wait()
        thread.join()
        errors.seek(0)
        if code:
            raise RuntimeError(f"{' '.join(command)} ended with {code}: {errors.read().strip()[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - started, cpu, peaks[0], peaks[1]


def compare() -> list[Comparison]:
    """Lists and ranks against a complete sort of float64 scores, and the lists of FAISS, on small data."""
    right = gallery(3_000, 64)
    left, positive = queries(right, 200)
    found = ours(left, right, positive, 100)()
    scores = left.astype(np.float64) @ right.T.astype(np.float64)
    order = np.argsort(-scores, axis=1, kind="stable")
    rank = np.argmax(order == positive[:, None], axis=1) + 1
    compared = {
        "lists of 3,000 candidates and a complete sort": (found.top.items, order[:, :100]),
        "ranks and a complete sort": (found.ranks["gt"].rank, rank),
    }
    with contextlib.suppress(ImportError):
        compared["lists and those of faiss (float32)"] = found.top.items, of_faiss(left, right, 100)()[1]
    return [Comparison(name, a.size, _differences(a, b)) for name, (a, b) in compared.items()]


def _differences(a: Array, b: Array) -> tuple[str, ...]:
    return tuple(f"{tuple(map(int, at))}: {a[tuple(at)]} and {b[tuple(at)]}" for at in np.argwhere(a != b))


def main() -> None:
    """Command line."""
    options = parser("scale", __doc__, 5)
    options.add_argument("--dim", type=positive, nargs="+", default=[1024])
    options.add_argument("--large", action="store_true", help="also files of 25,000 images and 1,000,000 captions")
    options.add_argument("--folder", type=Path, help="where the files of --large (4.2 GB) are made, by default in /tmp")
    options.add_argument("--inside", nargs=4, help="used by this program: what, candidates, dimension, repetitions")
    arguments = options.parse_args()
    if arguments.inside:
        what, n, dim, repeats = arguments.inside
        harness.report_usage(inside(what, int(n), int(dim), int(repeats)))
        return
    if arguments.check:
        sys.exit(print_comparisons(compare(), arguments.json))
    bench = Bench(0, 1 if arguments.quick else arguments.repeats, arguments.quick)
    for dim in [64] if arguments.quick else arguments.dim:
        growth(bench, [5_000] if arguments.quick else SIZES, dim)
    if arguments.large or arguments.quick:
        bench.goals = True
        size = (1_000, 256) if arguments.quick else (LARGE, arguments.dim[0])
        with tempfile.TemporaryDirectory(prefix="vsebench-scale-", dir=arguments.folder) as folder:
            large(bench, *size, Path(folder))
    bench.notes.append("F is timed before and after every repetition; ratios are medians over repetitions")
    bench.notes.append("own memory: anonymous and shared pages of the process")
    bench.print(arguments.json)


if __name__ == "__main__":
    main()
