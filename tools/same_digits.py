"""``python -m tools.same_digits OLD NEW``: do two checkouts print the same numbers, to the last bit?

Every command of ``same_digits_cases.txt`` runs in both checkouts, in the same interpreter and on the same files; exit
codes, JSON documents and written files are compared. Floats must have equal bits and strings must be equal; sentences
written for people may differ and are only counted (``--texts`` shows them). Nothing of either is imported here.

With ``--work DIR`` outputs are kept, and those of an unchanged checkout are not made again; without NEW the outputs
of OLD are made and nothing is compared. A single command can be repeated by hand in ``DIR/old`` or ``DIR/new``.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import fnmatch
import gzip
import hashlib
import importlib.metadata
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

CASES = Path(__file__).with_name("same_digits_cases.txt")  # the commands, and how they are written
PACKAGES = {"numpy", "scipy", "numba", "pandas", "eccv-caption", "pycocoevalcap", "POT"}
FILL = (("data", "build"), ("relevance", "import"))  # commands that fill the cache
# Keys of documents: what is about the run, and sentences for people.
ABOUT = {"provenance", "file", "folder", "seconds", "used"}
WORDS = {"warnings", "notes", "fault", "detail", "meaning", "definition", "formula", "view", "views", "graded_views"}
WORDS |= {"needs", "looks_at"}
RENAMED = {"quarrels": "disagreements", "text": "caption"}
STYLE = re.compile(rb"<style>.*?</style>", re.S)
PACKED = re.compile(r"(u1|u2|u4|i4|i8|f4|f8|text):([A-Za-z0-9+/]*=*)")
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")

Array = npt.NDArray[Any]


def unit(x: Array) -> Array:
    """Rows of length 1, float32."""
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


def lines(path: Path) -> list[str]:
    """The lines of a text file, plain or gzip."""
    return (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8").read().rstrip("\n").split("\n")


def coco(data: Path, to: Path) -> None:
    """COCO 5K: models of different quality, one with many ties; files without ids; scores, lists, labels."""
    rng = np.random.default_rng(1)
    with np.load(data / "proxy" / "coco5k_minilm_proxy.npz") as held:
        images, texts = held["images"].astype(np.float32), held["captions"].astype(np.float32)
        ids = held["image_ids"], held["caption_ids"]
    with np.load(data / "proxy" / "coco5k_label_proxy.npz") as held:
        objects, zeroshot = held["images"].astype(np.float32), held["images_zeroshot"].astype(np.float32)
    noise = rng.standard_normal(images.shape, dtype=np.float32)
    rows, columns = rng.permutation(len(images)), rng.permutation(len(texts))
    longer = rng.uniform(0.5, 2, (len(texts), 1)).astype(np.float32)
    turn = rng.standard_normal((images.shape[1], 7), dtype=np.float32)
    few = [np.pad(np.rint(2 * x @ turn), ((0, 0), (0, 1)), constant_values=1) for x in (images, texts)]
    for name, x, y in (
        ("coco", unit(images + 0.05 * noise), texts),
        ("rough", (images + 0.08 * noise) * longer[: len(images)], texts * longer),
        ("objects", objects, texts),
        ("zeroshot", zeroshot, texts),
        ("ties", *few),
    ):
        told = {"image_ids": ids[0][rows], "text_ids": ids[1][columns]}
        np.savez(to / f"{name}.npz", image_embeddings=x[rows], text_embeddings=y[columns], **told)
    np.save(to / "images.npy", unit(images + 0.06 * noise))
    np.save(to / "texts.npy", texts)
    np.savez(to / "categories.npz", objects=np.load(data / "coco5k" / "label_matrix.npy"), image_ids=ids[0])
    scores = objects @ texts.T
    np.save(to / "coco-scores.npy", scores.astype(np.float16))
    trec(to / "i2t.trec", scores, *ids, 30)
    trec(to / "t2i.trec", scores.T, *ids[::-1], 10)
    sizes = [f"{i},{'' if k % 50 == 0 else k % 997 / 8},{'abc'[k % 3]}" for k, i in enumerate(ids[0])]
    (to / "column.csv").write_text("\n".join(["image_id,size,kind", *sizes]) + "\n")


def trec(path: Path, scores: Array, queries: Array, items: Array, depth: int) -> None:
    """The top of every row as a TREC run; scores of two decimals, so that many are equal."""
    with path.open("w") as stream:
        for query, row in zip(queries, np.round(scores, 2), strict=True):
            for rank, at in enumerate(np.argsort(-row, kind="stable")[:depth], 1):
                stream.write(f"{query} Q0 {items[at]} {rank} {row[at]:.2f} x\n")


def flickr(data: Path, to: Path) -> None:
    """Flickr30K: two models with ids, one without; scores. Captions and tuples of Flickr8k; word vectors."""
    rng = np.random.default_rng(2)
    records = [json.loads(line) for line in lines(data / "f30k" / "test.jsonl")]
    texts = np.load(data / "minilm" / "f30k_test_captions.f16.npy").astype(np.float32)
    means = unit(texts.reshape(-1, 5, texts.shape[1]).mean(axis=1))
    noise = rng.standard_normal(means.shape, dtype=np.float32)
    rows, columns = rng.permutation(len(means)), rng.permutation(len(texts))
    names = np.array([r["image"] for r in records]), np.array([f"{r['image']}#{r['caption_index']}" for r in records])
    ids = {"image_ids": names[0][::5][rows], "text_ids": names[1][columns]}
    for name, x in (("f30k", unit(means + 0.05 * noise)), ("f30k-rough", unit(means + 0.08 * noise))):
        np.savez(to / f"{name}.npz", image_embeddings=x[rows], text_embeddings=texts[columns], **ids)
    np.save(to / "f30k.npy", means + 0.06 * noise)
    np.savez(to / "f30k-scores.npz", scores=np.round((means + 0.06 * noise)[rows] @ texts[columns].T, 2), **ids)
    captions = dict(line.split("\t") for line in lines(data / "flickr8k" / "Flickr8k.token.txt.gz"))
    tuples = dict(line.split("\t") for line in lines(data / "spice" / "flickr8k.tuples.tsv.gz"))
    (to / "flickr8k.tuples").write_text("".join(f"{held}\n" for held in tuples.values()), encoding="utf-8")
    (to / "flickr8k.txt").write_text("".join(f"{captions[name]}\n" for name in tuples), encoding="utf-8")
    (to / "synsets.gz").symlink_to(data / "spice" / "synsets.tsv.gz")
    of_coco = [json.loads(line)["caption"] for line in lines(data / "coco5k" / "captions.jsonl")]
    words = sorted(set(re.findall(r"[a-z]+", " ".join((*of_coco, *captions.values())).lower())))
    vectors = zip(words, rng.standard_normal((len(words), 12)), strict=True)
    (to / "words.txt").write_text("".join(f"{w} {' '.join(f'{v:.4f}' for v in x)}\n" for w, x in vectors))


def small(data: Path, to: Path) -> None:
    """Small ones: 200 images of COCO under ids of their own, one to five captions each; without ids; scores; gains."""
    rng = np.random.default_rng(3)
    records = lines(data / "coco5k" / "captions.jsonl")[:1000]
    captions = [" ".join(json.loads(line)["caption"].split()) for line in records]
    with np.load(data / "proxy" / "coco5k_minilm_proxy.npz") as held:
        x, y = (v @ rng.standard_normal((384, 24)) for v in (held["images"][:200], held["captions"][:1000]))
    x, y = x.astype(np.float32), (y + np.repeat(x, 5, axis=0) + rng.standard_normal(y.shape)).astype(np.float32)
    misordered = y.reshape(200, 5, -1).swapaxes(0, 1).reshape(1000, -1)
    for name, a, b in (("plain", x, y), ("repeated", np.repeat(x, 5, axis=0), y), ("misordered", x, misordered),
                       ("nan", np.where(np.arange(24) == 3, np.nan, x), y), ("tiny", x[:50], y[:250])):  # fmt: skip
        np.savez(to / f"{name}.npz", images=a, captions=b)
    np.savez(to / "keys.npz", left=x, right=y[:800])
    for name, count in (("small", 1000), ("tiny", 250)):
        (to / f"{name}.txt").write_text("\n".join(captions[:count]) + "\n", encoding="utf-8")
    (to / "tiny.jsonl").write_text("\n".join(records[:250]) + "\n", encoding="utf-8")
    np.save(to / "sentence.npy", unit(y + rng.standard_normal(y.shape)))
    np.save(to / "scores.npy", x @ y.T)
    gains = x @ y.T / 100 + rng.standard_normal((200, 1000))
    np.save(to / "gains.npy", gains)
    kept = rng.permutation(np.flatnonzero((rng.random(1000) < 0.7) | (np.arange(1000) % 5 == 0)))
    ids, owner = {"image_ids": np.arange(200) * 7 + 3, "text_ids": kept + 50_000}, kept // 5 * 7 + 3
    told = zip(ids["text_ids"].tolist(), owner.tolist(), kept, strict=True)
    rows = [json.dumps({"caption_id": t, "image_id": o, "caption": captions[k]}) for t, o, k in told]
    (to / "small.jsonl").write_text("\n".join(rows[::-1]) + "\n", encoding="utf-8")
    paired = {"img_emb": np.repeat(x, 5, axis=0), "text_emb": y, "image_id": np.repeat(ids["image_ids"], 5)}
    formats(to, {"image_embeddings": x, "text_embeddings": y[kept], **ids, "image_of_text": owner}, paired)
    order = rng.permutation(200)
    ids["image_ids"] = ids["image_ids"][order]
    np.savez(to / "gains.npz", gains=gains[order][:, kept].T, **ids)
    np.savez(to / "scores.npz", scores=np.round(x[order] @ y[kept].T), **ids, image_of_text=owner)


def formats(to: Path, full: dict[str, Array], paired: dict[str, Array]) -> None:
    """The same embeddings in every format whose packages are installed; ``paired`` has a row a text for both sides."""
    np.savez(to / "small.npz", **full)
    for name in ("img_emb", "text_emb"):
        (to / "shards" / name).mkdir(parents=True)
        for number, part in enumerate(np.array_split(paired[name], 3)):
            np.save(to / "shards" / name / f"{name}_{number}.npy", part)
    with contextlib.suppress(ImportError):
        import h5py
        import pandas as pd
        import safetensors.numpy

        safetensors.numpy.save_file(full, to / "small.safetensors")
        with h5py.File(to / "small.h5", "w") as file:
            file.update(full)
        images, texts = ({"id": full[f"{m}_ids"], "embedding": [*full[f"{m}_embeddings"]]} for m in ("image", "text"))
        texts["image_id"] = full["image_of_text"]
        parts = [pd.DataFrame(images | {"modality": "image"}), pd.DataFrame(texts | {"modality": "text"})]
        pd.concat(parts).astype({"image_id": "Int64"}).to_parquet(to / "small.parquet")
        (to / "shards" / "metadata").mkdir()
        ids = pd.DataFrame({"image_id": paired["image_id"], "caption_id": np.arange(len(paired["image_id"]))})
        ids.to_parquet(to / "shards" / "metadata" / "metadata_0.parquet")
        import torch  # last, as it may be missing

        torch.save({name: torch.from_numpy(x.copy()) for name, x in full.items()}, to / "small.pt")


def labelled(data: Path, to: Path) -> None:
    """Labels: images and texts of Wikipedia with their topics, distances, masks."""
    from scipy.io import loadmat

    rng = np.random.default_rng(4)
    held = loadmat(data / "wikipedia" / "raw_features.mat")
    images, topics = held["I_te"].astype(np.float32), held["T_te"].astype(np.float32)
    turn = np.linalg.lstsq(held["I_tr"], held["T_tr"], rcond=None)[0].astype(np.float32)
    np.savez(to / "wikipedia.npz", image_embeddings=images @ turn, text_embeddings=topics)
    order, ids = rng.permutation(len(topics)), np.arange(len(topics)) + 1000
    np.savez(to / "items.npz", image_embeddings=images, text_embeddings=np.sqrt(topics), image_ids=ids)
    np.savez(to / "topics.npz", labels=topics[order], image_ids=ids[order])
    (to / "queries.txt").write_text("\n".join(map(str, ids[5:90:3])) + "\n")
    np.save(to / "topics.npy", topics)
    np.save(to / "items.npy", images[:120])
    np.save(to / "distances.npy", np.abs(topics[:120, None] - topics[:120]).sum(axis=2))
    np.save(to / "masks.npy", rng.integers(-1, 8, (120, 9, 9)))
    np.save(to / "classes.npy", rng.integers(0, 2, (120, 4, 9, 9)))


def make_inputs(data: Path, folder: Path) -> str:
    """Make the files unless they are there; returns a text that changes when what makes them does."""
    makers, stamp = (coco, flickr, small, labelled), folder / "stamp"
    state = digest(*map(inspect.getsource, (*makers, formats, trec, unit, lines)), str(data))
    if not stamp.is_file() or stamp.read_text() != state:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for maker in makers:
            maker(data, folder)
        stamp.write_text(state)
    return state


def digest(*parts: str | bytes) -> str:
    """A text that identifies the parts."""
    found = hashlib.sha256()
    for part in parts:
        held = part if isinstance(part, bytes) else part.encode()
        found.update(b"%d:" % len(held) + held)
    return found.hexdigest()


@dataclass(frozen=True)
class Case:
    """One command: its name, whether it takes long, its words, the earlier cases it builds on, and its output file."""

    name: str
    slow: bool
    words: tuple[str, ...]
    needs: tuple[Case, ...]
    output: str


def read_cases() -> dict[str, Case]:
    """The table."""
    cases: dict[str, Case] = {}
    text = CASES.read_text(encoding="utf-8")
    for name, *words in (line.split() for line in text.splitlines() if line and not line.startswith("#")):
        slow = words[0] == "*"
        words = words[slow:]
        files = {w.rpartition("=")[2].partition(".")[0] for w in words if "." in w}
        spare = [c for c in cases.values() if words[0].startswith("VSEBENCH_CACHE=") and c.words[0] == words[0]]
        needs = (c for c in cases.values() if c.name in files or c.words[:2] in FILL or c in spare)
        ending = "text" if {"--format", "--terminal"} & {*words} else "json"
        cases[name] = Case(name, slow, tuple(words), tuple(needs), f"{name}.{ending}")
    return cases


class Side:
    """A checkout, and the folder of what its commands print and write; it is emptied when other code has made that."""

    def __init__(self, checkout: Path, folder: Path, inputs: str, data: Path, threads: int):
        self.checkout, self.folder, self.inputs = checkout.resolve(), folder, inputs
        theirs = {k: v for k, v in os.environ.items() if not k.startswith(("VSEBENCH", "PYTHON", "FORCE_", "NO_COLOR"))}
        theirs |= dict.fromkeys(("PYTHONSAFEPATH", "HF_HUB_OFFLINE", "OMP_NUM_THREADS"), "1")
        theirs |= {"PYTHONPATH": f"{self.checkout}", "VSEBENCH_CACHE": "cache", "VSEBENCH_NUM_THREADS": f"{threads}"}
        # Kernels are compiled anew for other code: numba does not notice when a kernel called by another has changed.
        compiled = dict.fromkeys(("NUMBA_CACHE_DIR", "PYTHONPYCACHEPREFIX"), f"{folder / 'compiled'}")
        self.environment = theirs | compiled | {"COLUMNS": "120"}
        self.state, stamp = self.identity(), folder / "state"
        if not stamp.is_file() or stamp.read_text() != self.state:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            (folder / "in").symlink_to(folder.parent / "in")
            (folder / "data").symlink_to(data)
            stamp.write_text(self.state)
        where = self.call("-c", "import vsebench; print(vsebench.__file__)").stdout.decode().strip()
        if Path(where).resolve() != self.checkout / "vsebench" / "__init__.py":
            sys.exit(f"{self.checkout}: vsebench is imported from '{where}'")
        self.unimodal = self.call("-m", "vsebench", "unimodal", "--help").returncode == 0

    def identity(self) -> str:
        """A text that changes when the package, those it uses or the inputs do."""
        used = sorted(f"{d.name} {d.version}" for d in importlib.metadata.distributions() if d.name in PACKAGES)
        files = sorted(p for p in (self.checkout / "vsebench").rglob("*.*") if "__pycache__" not in p.parts)
        parts = [part for p in files for part in (str(p.relative_to(self.checkout)), p.read_bytes())]
        return digest(self.inputs, sys.version, *used, *parts)

    def call(self, *words: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
        """Run the interpreter in the folder."""
        more = more or {"capture_output": True, "env": self.environment}
        return subprocess.run([sys.executable, *words], cwd=self.folder, **more)

    def key(self, case: Case) -> str:
        """A text that changes when the command or one that it builds on does."""
        return digest(self.state, *case.words, *map(self.key, case.needs))

    def done(self, case: Case) -> dict[str, Any]:
        """``exit`` and ``seconds`` of a case, which is run unless its outputs are there."""
        record, key = self.folder / f"{case.name}.done", self.key(case)
        if record.is_file() and (held := json.loads(record.read_text()))["key"] == key:
            return dict(held)
        for path in self.outputs(case):
            path.unlink()
        variables = dict(w.split("=") for w in case.words if w.startswith("VSEBENCH_"))
        words = [w for w in case.words if not w.startswith("VSEBENCH_") and w != "--terminal"]
        words[0] = "eval" if words[0] == "unimodal" and not self.unimodal else words[0]
        words += ["--json"] * case.output.endswith(".json")
        started = time.perf_counter()
        with (self.folder / case.output).open("wb") as out, (self.folder / f"{case.name}.err").open("wb") as err:
            how = {"env": self.environment | variables, "stdout": out, "stderr": err}
            code = self.call("-m", "vsebench", *words, **how).returncode
        held = {"key": key, "exit": code, "seconds": time.perf_counter() - started}
        record.write_text(json.dumps(held))
        return held

    def outputs(self, case: Case) -> list[Path]:
        """What a case has printed and written."""
        found = (p for top in self.folder.glob(f"{case.name}.*") for p in (top, *top.rglob("*")))
        return sorted(p for p in found if p.is_file() and p.suffix != ".done")


@dataclass
class Comparison:
    """How many numbers were compared, and (place, old, new) of values and of sentences that differ."""

    numbers: int = 0
    wrong: list[tuple[str, str, str]] = field(default_factory=list)
    words: list[tuple[str, str, str]] = field(default_factory=list)

    def same(self, old: Any, new: Any, at: str, words: bool = False) -> None:
        """Note two values that are not the same; repr tells floats with other bits apart, and 1 from 1.0."""
        self.numbers += isinstance(old, (int, float)) and not isinstance(old, bool)
        if repr(old) != repr(new):
            told = (x if len(x) <= 150 else f"{x[:150]}..." for x in map(repr, (old, new)))
            (self.words if words else self.wrong).append((at, *told))

    def values(self, old: Any, new: Any, at: str) -> None:
        """Two JSON values."""
        if isinstance(old, dict) and isinstance(new, dict):
            for key in (k for k in dict.fromkeys((*old, *new)) if k not in ABOUT):
                if key in old and key in new and key not in WORDS:
                    self.values(old[key], new[key], f"{at}.{key}")
                else:
                    self.same(old.get(key), new.get(key), f"{at}.{key}", key in WORDS)
        elif isinstance(old, list) and isinstance(new, list):
            keys = {"metric", "direction"}
            names = [
                [f"{x['metric']} {x['direction']}" if isinstance(x, dict) and keys <= {*x} else str(k)
                 for k, x in enumerate(side)] for side in (old, new)
            ]  # fmt: skip
            if names[0] != names[1] and sorted(names[0]) == sorted(names[1]):
                self.same("order", "another order", at, words=True)
                new = [new[names[1].index(x)] for x in names[0]]
            self.same(f"{len(old)} entries", f"{len(new)} entries", at)
            for name, first, second in zip(names[0], old, new, strict=False):
                self.values(first, second, f"{at}[{name}]")
        elif isinstance(old, str) and isinstance(new, str) and PACKED.fullmatch(old) and PACKED.fullmatch(new):
            arrays = unpack(old), unpack(new)
            self.same(*(f"{len(x)} of {x.dtype}" for x in arrays), at)
            self.numbers += len(arrays[0]) * (old == new)
            for k, (x, y) in enumerate(zip(*(a.tolist() for a in arrays), strict=False) if old != new else ()):
                self.same(x, y, f"{at}[{k}]")
        else:
            self.same(old, new, at)

    def files(self, old: Path, new: Path, at: str) -> None:
        """Two files: documents by value, printed tables by their numbers, others by their bytes."""
        first, second = (p.read_bytes() if p.is_file() else b"(no file)" for p in (old, new))
        if old.suffix == ".json" and {first[:1], second[:1]} <= {b"{", b"["}:
            self.values(renamed(json.loads(first)), renamed(json.loads(second)), "")
            return
        first, second = STYLE.sub(b"", first), STYLE.sub(b"", second)
        numbers = [NUMBER.findall(x.decode("latin1")) for x in (first, second)]
        self.numbers += len(numbers[0]) * (old.suffix != ".err")
        if first != second:
            k = next((k for k, (x, y) in enumerate(zip(first, second, strict=False)) if x != y), -1)
            k = first.rfind(b"\n", 0, k) + 1  # where the line begins
            told = old.suffix == ".err" or (old.suffix == ".text" and numbers[0] == numbers[1])
            among = self.words if told else self.wrong
            among.append((f"{at}, byte {k}", repr(first[k : k + 150]), repr(second[k : k + 150])))


def renamed(value: Any) -> Any:
    """A JSON value with its old keys under their present names."""
    if isinstance(value, dict):
        return {RENAMED.get(key, key): renamed(x) for key, x in value.items()}
    return [renamed(x) for x in value] if isinstance(value, list) else value


def unpack(text: str) -> Array:
    """The array in a packed text, see "The JSON report" in ``docs/formats.md``."""
    kind, data = text.split(":")
    raw = zlib.decompress(base64.b64decode(data))
    return np.array(json.loads(raw), np.str_) if kind == "text" else np.frombuffer(raw, f"<{kind}")


def run(sides: list[Side], cases: list[Case], texts: bool) -> int:
    """Run cases on every side, compare two sides, print a line a case; 1 when something differs."""
    differ = total = 0
    for case in cases:
        done = [side.done(case) for side in sides]
        print(f"{case.name:13}", *(f"{d['seconds']:7.1f} s" for d in done), end="", flush=True)
        if len(sides) == 1:
            print(f"  exit code {done[0]['exit']}")
            continue
        found = Comparison()
        found.same(*(f"exit code {d['exit']}" for d in done), "")
        for path in sorted({str(p.relative_to(side.folder)) for side in sides for p in side.outputs(case)}):
            found.files(*(side.folder / path for side in sides), path)
        differ, total = differ + bool(found.wrong), total + found.numbers
        said = f", {len(found.words)} sentences differ" if found.words else ""
        print(f"{found.numbers:12,} numbers  {f'{len(found.wrong):,} DIFFER' if found.wrong else 'equal'}{said}")
        for place, old, new in found.wrong[:20] + found.words * texts:
            print(f"    {place}: {old} -> {new}")
    print(f"{len(cases)} cases, {total:,} numbers, {differ} cases differ")
    changed = [side.checkout for side in sides if side.state != side.identity()]
    print(*(f"{checkout} has changed meanwhile: run it again\n" for checkout in changed), end="")
    return int(bool(differ or changed))


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.same_digits", description="Compare two checkouts.")
    parser.add_argument("old", type=Path, help="a checkout")
    parser.add_argument("new", type=Path, nargs="?", help="another; without it the outputs of OLD are made, no more")
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("VSEBENCH_TEST_DATA"),
        help="the test data; by default VSEBENCH_TEST_DATA",
    )
    parser.add_argument("--only", nargs="+", default=["*"], metavar="NAME", help="such cases, as in 'labels*'")
    parser.add_argument("--quick", action="store_true", help="leave out the cases that take long")
    parser.add_argument("--work", type=Path, help="a folder of outputs, which are kept and used again")
    parser.add_argument("--keep", action="store_true", help="without --work: leave the temporary folder")
    parser.add_argument("--texts", action="store_true", help="also print the sentences that differ")
    parser.add_argument("--threads", type=int, default=2, help="of every command; never changes a result")
    told = parser.parse_args()
    checkouts = [p for p in (told.old, told.new) if p is not None]
    if told.data is None:
        parser.error("give --data FOLDER or set VSEBENCH_TEST_DATA")
    data = Path(told.data).resolve()
    for folder in (data, *(p / "vsebench" for p in checkouts)):
        if not folder.is_dir():
            parser.error(f"{folder} is no folder")
    cases = list(read_cases().values())
    wanted = [c for c in cases if any(fnmatch.fnmatch(c.name, p) for p in told.only) and not (told.quick and c.slow)]
    for case in wanted:  # grows by what they build on
        wanted += [c for c in case.needs if c not in wanted]
    work = (told.work or Path(tempfile.mkdtemp(prefix="same-digits-"))).resolve()
    try:
        inputs = make_inputs(data, work / "in")
        sides = [Side(c, work / n, inputs, data, told.threads) for c, n in zip(checkouts, ("old", "new"), strict=False)]
        return run(sides, [c for c in cases if c in wanted], told.texts)
    finally:
        if told.work is None and not told.keep:
            shutil.rmtree(work)
        else:
            print(f"outputs are in {work}")


if __name__ == "__main__":
    sys.exit(main())
