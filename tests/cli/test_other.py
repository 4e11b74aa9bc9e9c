"""Help, version, and the commands inspect, data, doctor and demo."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench
from tests.commands import cli, document, invoke, refused
from tests.hostile import good
from tests.messages import Pinned
from vsebench.cli import doctor, terminal
from vsebench.cli.demo import WORDS
from vsebench.cli.terminal import encodable
from vsebench.errors import EXIT_CODES
from vsebench.sets.published import SETS
from vsebench.types import TestSet

COMMANDS = (["eval"], ["unimodal"], ["choice"], ["inspect"], ["metrics"], ["data"], ["data", "list"], ["data", "build"],
            ["data", "verify"], ["doctor"], ["demo"])  # fmt: skip


def words(text: str) -> str:
    """The text without boxes and line breaks."""
    return " ".join(re.sub("[│╭╮╰╯─┃|]", " ", text).split())


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


# Help and version


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_help(command: list[str]) -> None:
    for flag in ("--help", "-h"):
        done = cli(*command, flag)
        assert done.err == "" and len(words(done.out)) > 100
        assert f"vsebench {' '.join(command)}" in words(done.out)
    if command != ["data"]:
        complete = cli(*command, "--help-all" if command == ["eval"] else "--help").out
        assert all(flag in complete for flag in ("--json", "--quiet", "--notes"))


# inspect


def test_inspect_shows_what_would_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vsebench.rank.count.observe", lambda *_, **__: pytest.fail("nothing may be ranked"))
    file = good.npz(tmp_path)[1]
    found = document("inspect", file)
    assert found["schema"] == "vsebench/inspect/1" and found["format"] == "npz" and found["fault"] is None
    shapes = {a["name"]: (a["shape"], a["dtype"]) for a in found["arrays"]}
    assert shapes["images"] == ([60, 16], "float32") and shapes["text_ids"] == ([300], "int64")
    assert found["matched"]["split"] == "custom" and found["matched"]["captions"] == 300
    lengths = found["arrays"][0]["lengths"]
    assert lengths["min"] <= lengths["median"] <= lengths["max"]
    assert "would be evaluated as custom: 60 images, 300 captions" in cli("inspect", file).out


def test_inspect_of_a_faulty_file_shows_it_and_ends_with_3(tmp_path: Path, pinned: Pinned) -> None:
    file = good.npz(tmp_path, **good.spoiled("text", 5, np.nan))[1]
    found, shown = document("inspect", file, code=3), cli("inspect", file, code=3)
    assert found["matched"] is None and "text row 5 (id 5005) holds nan in column 3" in found["fault"]
    assert "could not be evaluated, see the error" in shown.out and shown.err.count("error: ") == 1
    pinned(shown.err)
    pinned(refused("inspect", tmp_path / "none", "--json", code=3))


def test_inspect_of_scores_and_pairs(tmp_path: Path) -> None:
    scores = good.scores(tmp_path, good.good_scores())[2]
    found = document("inspect", scores, "--scores")
    assert found["arrays"] == [{"name": "scores", "shape": [60, 300], "dtype": "float32"}]
    assert document("inspect", *good.pair(tmp_path, *good.vectors())[1:])["files"] == ["images.npy", "texts.npy"]
    transposed = good.scores(tmp_path, good.good_scores().T)[2]
    assert "looks transposed" in cli("inspect", transposed, "--scores", code=3).err


Q, D = [f"q{n}" for n in range(1, 9)], [f"d{n}" for n in range(1, 9)]
LISTED = "".join(f"{q} Q0 {D[(n + r) % 8]} {r + 1} {9 - r}.5 tag\n" for n, q in enumerate(Q) for r in range(4))
IN_WORDS: dict[str, tuple[str, list[str]]] = {
    "qrels of TREC": ("".join(f"{q} 0 {d} 1\n" for q, d in zip(Q, D, strict=True)), ["judgements"]),
    "with tabs": ("".join(f"{q}\t0\t{d}\t2\n" for q, d in zip(Q, D, strict=True)), ["judgements"]),
    "lines": ("".join(f"a {d} is here\n" for d in D), ["captions"]),
    "qrels of BEIR": (
        "query-id\tcorpus-id\tscore\n" + "".join(f"{q}\t{d}\t1\n" for q, d in zip(Q, D, strict=True)),
        ["retrieved lists", "judgements"],
    ),
    "a run": (LISTED, ["retrieved lists"]),
    "lists as JSON": (json.dumps({q: D for q in Q}), ["retrieved lists", "judgements"]),
    "grades by id": (
        "image_id,caption_id,grade\n" + "".join(f"{n},{n}#0,2\n" for n in range(8)), ["judgements i2t"],
    ),
    "captions": ("".join(f"{n}.jpg#0\ta cat and {n} dogs\n" for n in range(8)), ["captions", "caption_id", "image_id"]),
    "a table": ("image_id,category\n" + "".join(f"{n},c{n % 2}\n" for n in range(8)), ["image_id", "category"]),
    "class labels": (
        "image_id,caption_id,label\n" + "".join(f"{n},{n}#0,c{n % 2}\n" for n in range(8)), ["image_id", "caption_id"],
    ),
    "a gallery": ("".join(f"{d}\n" for d in D), ["candidates", "items to leave out"]),
    "names of candidates": ("".join(json.dumps({"cand_names": D}) + "\n" for _ in Q), ["candidates"]),
    "references": (json.dumps([{"id": q, "reference_img_id": d} for q, d in zip(Q, D, strict=True)]),
        ["items to leave out"]),
}  # fmt: skip


@pytest.mark.parametrize("case", IN_WORDS)
def test_inspect_reads_text_as_eval_does(tmp_path: Path, case: str, pinned: Pinned) -> None:
    text, names = IN_WORDS[case]
    (tmp_path / "x.txt").write_text(text)
    found = document("inspect", tmp_path / "x.txt")
    assert found["fault"] is None and [a["name"] for a in found["arrays"]] == names
    assert {a["shape"][0] for a in found["arrays"]} == {8}
    pinned("\n".join(found["notes"]))


def test_inspect_finds_the_split_of_lists_and_judgements(tmp_path: Path, coco: TestSet) -> None:
    captions = coco.columns.ids[:60].reshape(-1, 5)
    lines = [f"{i} 0 {c} 1\n" for i, own in zip(coco.rows.ids, captions, strict=False) for c in own]
    (tmp_path / "judged.txt").write_text("".join(lines))
    (tmp_path / "other.txt").write_text("".join(f"x{line}" for line in lines))
    assert document("inspect", tmp_path / "judged.txt")["matched"]["captions"] == 25_000
    assert document("inspect", tmp_path / "other.txt")["matched"] is None
    assert document("inspect", tmp_path / "other.txt", "--split", "coco-5k", code=3)["matched"] is None


@pytest.mark.parametrize("name, shape", [("x", (20, 20)), ("sims", (20, 60)), ("x", None)])
def test_inspect_finds_scores_without_the_option(tmp_path: Path, name: str, shape: tuple[int, int] | None) -> None:
    ids = {"image_ids": np.arange(20), "text_ids": np.arange(60), "image_of_text": np.arange(60) % 20}
    rows, columns = shape or (20, 60)
    scores = np.random.default_rng(0).standard_normal((rows, columns)) + 3 * np.eye(rows, columns)
    np.savez(tmp_path / "s.npz", **{name: scores}, **({} if shape else ids))
    options = [] if shape is None else ["--captions-per-image", columns // rows]
    found = document("inspect", tmp_path / "s.npz", *options)
    assert found["arrays"][0]["name"] == "scores" and found["arrays"][0]["shape"] == [rows, columns]
    assert found["matched"] is not None
    alone = good.pair(tmp_path, *good.vectors())[1]
    assert document("inspect", alone, code=3)["arrays"][0]["name"] == "images.npy"


def test_a_text_that_eval_cannot_read_is_refused(tmp_path: Path, pinned: Pinned) -> None:
    (tmp_path / "x.txt").write_text(LISTED.replace(" 2 8.5 tag", " 2 8.5", 1))
    (tmp_path / "twice.txt").write_text("1000.jpg#0\ta cat sits\n1000.jpg#0\ta dog runs\n")
    for name in ("x.txt", "twice.txt"):
        pinned(document("inspect", tmp_path / name, code=3)["fault"])


# data


def test_data_list(empty_cache: Path) -> None:
    rows = {r["name"]: r for r in document("data", "list")["splits"]}
    assert [name for name in rows if not name.startswith("scenes-")] == ["coco-5k", "coco-1k", "f30k", *SETS]
    assert {rows[name]["available"] for name in SETS} == {"absent"} and "test.csv" in rows["audiocaps"]["files"]
    assert (rows["coco-5k"]["images"], rows["coco-5k"]["captions"]) == (5000, 25000)
    assert rows["f30k"]["available"] == "absent" and rows["f30k"]["needs"] == "vsebench data build f30k --from PATH"
    assert all(name in cli("data", "list").out for name in rows)
    assert not empty_cache.exists(), "listing builds nothing"


@pytest.mark.parametrize("command", ["build", "verify"])
def test_a_split_that_is_not_available(command: str, empty_cache: Path, pinned: Pinned) -> None:
    pinned(refused("data", command, "f30k", code=4))
    refused("data", command, "coco5k")


# doctor


@pytest.fixture(scope="module")
def findings() -> list[doctor.Finding]:
    """The findings on this machine, examined once because that takes seconds."""
    return doctor.examine()


def test_doctor(findings: list[doctor.Finding], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "examine", lambda: findings)
    text = cli("doctor", code=None)
    found = document("doctor", code=text.code)
    assert found["schema"] == "vsebench/doctor/1"
    assert all(f["state"] in ("ok", "absent", "fault") and f["name"] in text.out for f in found["findings"])
    assert text.code == int(any(f["state"] == "fault" for f in found["findings"]))
    names = " ".join(f["name"] for f in found["findings"])
    assert all(word in names for word in ("numpy", "numba"))
    fault = doctor.Finding("numba", "fault", "[broken] kernels", "reinstall it")
    monkeypatch.setattr(doctor, "examine", lambda: [*findings, fault])
    out = cli("doctor", code=1).out
    assert "!!" in out and "[broken] kernels" in out


@pytest.mark.parametrize("place", ["file/cache", "/proc/vsebench"])
def test_doctor_tries_to_write_into_the_cache(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Permissions alone are not enough: an administrator has them where nothing can be written."""
    (tmp_path / "file").write_text("no folder")
    if place.startswith("/proc") and not Path("/proc/self").exists():
        pytest.skip("no /proc here")
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / place))
    (found,) = doctor.examine("cache")
    assert (found.state, found.fix) == ("fault", "set VSEBENCH_CACHE to a folder that you can write")
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "new" / "cache"))
    assert doctor.examine("cache")[0].state == "ok" and sorted(p.name for p in tmp_path.iterdir()) == ["file"]


# unexpected errors


def test_an_unexpected_error_is_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pinned: Pinned) -> None:
    monkeypatch.setattr("vsebench.files.read.read_embeddings", failing(ZeroDivisionError("half\nway")))
    monkeypatch.delenv("VSEBENCH_DEBUG", raising=False)
    pinned(refused(*good.npz(tmp_path), code=5))
    monkeypatch.setenv("VSEBENCH_DEBUG", "1")
    assert isinstance(invoke(*good.npz(tmp_path)).exception, ZeroDivisionError)


@pytest.mark.parametrize(
    ("error", "code", "words"), [(KeyboardInterrupt(), 130, "interrupted"), (MemoryError(), 5, "not enough memory")]
)
def test_interrupts_and_memory(
    error: BaseException, code: int, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vsebench.files.read.read_embeddings", failing(error))
    assert cli(*good.npz(tmp_path), code=code).err.startswith(f"error: {words}")


def test_json_has_the_encoding_of_its_stream() -> None:
    assert json.loads(encodable('{"a": "\udcff写"}', "utf-8")) == {"a": "\udcff写"}
    assert encodable('{"a": "写"}', "utf-8") == '{"a": "写"}'
    assert encodable('{"a": "写"}', "ascii").isascii()


# demo


@pytest.mark.nightly  # the gate has make demo
def test_demo(tmp_path: Path, coco: TestSet) -> None:
    pytest.importorskip("pycocoevalcap", reason="pycocoevalcap is not installed (pip install 'vsebench[text]')")
    out = tmp_path / "demo"
    shown = cli("demo", "--out", out).out
    files = ["lsa-128.json", "lsa-128.npz", "lsa-64.json", "lsa-64.npz", "page.html"]
    assert sorted(p.name for p in out.iterdir()) == files
    assert words(WORDS) in words(shown)
    assert shown.rstrip().splitlines()[-3].startswith("Try next")
    assert "page.html: tables, charts and single queries" in words(shown)
    assert 'id="explorer-data"' in (out / "page.html").read_text()
    report = json.loads((out / "lsa-128.json").read_text())
    assert report["split"] == "coco-5k" and report["schema"] == "vsebench/report/1"
    again = document("eval", out / "lsa-128.npz", "--metrics", "recall,eccv,NCS@10")
    assert again["results"] == report["results"] and again["signature"] == report["signature"]


def test_progress_without_a_terminal_is_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terminal, "PROGRESS_SECONDS", 0.01)
    with terminal.Terminal().progress("ranking") as update:
        assert update is not None
        deadline = time.monotonic() + 60

        def wait_for(text: str) -> str:
            seen = ""
            while text not in seen and time.monotonic() < deadline:
                time.sleep(0.01)
                seen += capsys.readouterr().err
            return seen

        assert re.search(r"^ranking: 0 s$", wait_for("ranking: 0 s\n"), re.MULTILINE), "work that reports nothing"
        update(1, 1000)
        first = wait_for("(0%)")
        assert "left" not in first, "the first block also compiles kernels"
        update(2, 1000)
        assert re.search(
            r"^ranking: 2 of 1,000 \(0%\), \d+ s, about \d+ (s|min) left$", wait_for("left\n"), re.MULTILINE
        )
    capsys.readouterr()
    time.sleep(0.05)
    assert capsys.readouterr().err == "", "no line after the work"
    with terminal.Terminal(quiet=True).progress("ranking") as silent:
        assert silent is None


@pytest.mark.parametrize("tty", [False, True])
def test_progress_says_that_kernels_are_compiled_and_only_then(
    tty: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from vsebench.numeric import compiled

    monkeypatch.setattr(terminal, "PROGRESS_SECONDS", 0.01)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: tty, raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "xterm")
    said = []
    for compiles in (True, False):
        with terminal.Terminal().progress("ranking"):
            if compiles:
                compiled._listener.on_start(None)
            time.sleep(0.3)
        if compiles:
            compiled._listener.on_end(None)
        said.append(capsys.readouterr().err)
    assert re.search(r"ranking.*compiling kernels, once after installation: \d+", said[0])
    assert "compiling" not in said[1]

    @compiled.numba.njit
    def kernel(x: Any) -> Any:
        return x.sum()

    started = []
    for number in (3.0, 2.0):
        assert kernel(np.array([number])) == number
        started.append(compiled._listener.started)
    assert started[0] == started[1] > 1, "what numba compiles is counted, once"


def failing(error: BaseException) -> Callable[..., None]:
    def fails(*args: Any, **kwargs: Any) -> None:
        raise error

    return fails


def test_version_and_exit_codes() -> None:
    assert cli("--version").out == f"vsebench {vsebench.__version__}\n"
    text = words(cli("--help").out)
    assert all(re.search(rf"\b{code}\b", text[text.index("Exit codes") :]) for code in EXIT_CODES)
    assert all(command[0] in text for command in COMMANDS)
