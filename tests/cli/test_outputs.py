"""Files that commands write: they replace no input, a disk that refuses is named, and nothing is lost or left."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docs.generate import commands
from tests import reports
from tests.commands import cli, refused
from tests.hostile import good
from tests.messages import Pinned, Refuses
from vsebench.cli import cache as cache_command
from vsebench.cli.command import WRITTEN
from vsebench.errors import DISK, EXIT_CODES, DiskError, UsageError
from vsebench.files.atomic import refuse_overwriting, write_atomically
from vsebench.sets.match import with_captions
from vsebench.types import TestSet


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def given(tmp_path: Path) -> Path:
    """A folder with every kind of input: vectors, captions, gains, queries, reports, shards, a table, word vectors."""
    folder = tmp_path / "given"
    folder.mkdir()
    good.npz(folder)
    x, y = good.vectors()
    np.save(folder / "one.npy", x)
    np.save(folder / "labels.npy", x)
    np.save(folder / "gains.npy", np.ones((60, 300), np.float32))
    (folder / "captions.txt").write_text("a dog\n" * 300)
    (folder / "others.txt").write_text("a dog\n" * 300)
    (folder / "queries.txt").write_text("0\n1\n")
    (folder / "v.txt").write_text("a 1 0\ndog 0 1\n")
    (folder / "table.csv").write_text("image_id,kind\n100,a\n101,b\n")
    for at, noise in enumerate((0.3, 1.0, 2.0)):
        reports.write(folder / f"{'ABC'[at]}.json", reports.report(noise, at, metrics="R@1,MedR,MRR"))
    for side, array in (("img_emb", x), ("text_emb", y)):
        (folder / "shards" / side).mkdir(parents=True)
        np.save(folder / "shards" / side / f"{side}_0.npy", array)
    return folder


OVER = """
compare A.json B.json -o A.json
compare base=A.json B.json -o A.json
agree A.json B.json C.json -o C.json
slice A.json --by column --file table.csv -o table.csv
slice A.json --by length --captions captions.txt -o captions.txt
eval e.npz -o e.npz
eval e.npz -o link.npz
eval e.npz --save-run hard.npz
eval e.npz --captions captions.txt -o captions.txt
eval e.npz --gains gains.npy --metrics ncs -o gains.npy
eval e.npz --gains gains.npy:negative=zero --metrics ncs -o gains.npy
eval e.npz --gains cider,gains.npy --captions captions.txt --metrics ncs -o gains.npy
eval e.npz --gains cider:df=captions.txt --captions others.txt --metrics ncs -o captions.txt
eval e.npz --gains wmd:v.txt --captions captions.txt --metrics ncs -o v.txt
eval --run i2t=captions.txt -o captions.txt
eval shards -o shards/img_emb/img_emb_0.npy
unimodal one.npy --labels labels.npy --queries queries.txt -o queries.txt
unimodal one.npy --labels labels.npy -o labels.npy
spice --captions captions.txt -o captions.txt
"""


@pytest.mark.parametrize("command", OVER.strip().splitlines())
def test_no_command_writes_over_its_input(
    command: str, given: Path, monkeypatch: pytest.MonkeyPatch, pinned: Pinned
) -> None:
    monkeypatch.chdir(given)
    (given / "link.npz").symlink_to("e.npz")
    os.link(given / "e.npz", given / "hard.npz")
    before = {p: p.read_bytes() for p in given.rglob("*") if p.is_file()}
    style = [] if command.startswith("spice") else ["--format", "json"]  # of files whose ending is that of no format
    pinned(refused(*command.split(), *style))
    assert {p: p.read_bytes() for p in given.rglob("*") if p.is_file()} == before


def test_every_option_that_names_a_result_is_known_to_the_check() -> None:
    wording = ("write", "also draw", "folder for")
    found = {
        (name, p.name)
        for name, command in commands()
        for p in command.params
        if any((getattr(p, "help", None) or "").lower().startswith(w) for w in wording) or "write" in str(p.help or "")
    }
    assert found, "the help names what is written"
    others = {pair for pair in found if pair[1] not in WRITTEN}
    assert others == {("vsebench demo", "out"), ("vsebench page", "figures"), ("vsebench export", "path")}, others
    # demo has a check of its own, and the charts of a report are no inputs
    assert {name for _, name in found - others} == set(WRITTEN)


def test_an_earlier_result_is_replaced_also_in_a_folder_of_inputs(given: Path, pinned: Pinned) -> None:
    result, shards = given / "shards" / "report.json", given / "shards"
    args = ["eval", shards, "--captions-per-image", 5, "--metrics", "R@1", "-o", result]
    for _ in range(2):
        cli(*args)
    result.write_text('{"config": 1}')
    pinned(refused(*args))


def test_spellings_of_one_file_are_one_file(tmp_path: Path, refuses: Refuses) -> None:
    (tmp_path / "a").mkdir()
    refuses(UsageError, refuse_overwriting, [tmp_path / "r.json", tmp_path / "a" / ".." / "r.json"], [])
    refuse_overwriting([tmp_path / "r.json"], [tmp_path / "q.json", tmp_path / "a"])


def test_the_demo_replaces_files_of_no_other_folder(tmp_path: Path, pinned: Pinned) -> None:
    for name in ("lsa-128.npz", "lsa-64.json", "page.html"):
        (tmp_path / name).write_text("mine")
        pinned(refused("demo", "--out", tmp_path))
        assert (tmp_path / name).read_text() == "mine"
        (tmp_path / name).unlink()


# disks that refuse


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_full_disk_is_named_and_the_result_is_printed(
    number: int, given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pinned: Pinned
) -> None:
    def fsync(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("os.fsync", fsync)
    monkeypatch.chdir(given)
    done = cli("eval", "e.npz", "--metrics", "R@1", "-o", tmp_path / "r.json", "--json", code=DISK)
    assert DISK == 6 and "disk" in EXIT_CODES[DISK]
    pinned(done.err)
    assert done.json["results"], "what was measured is not lost"
    assert [p.name for p in tmp_path.iterdir()] == ["given"]
    for command in ("compare A.json B.json", "slice A.json --by column --file table.csv"):
        assert "R@1" in cli(*command.split(), "-o", tmp_path / "r.md", code=DISK).out


def test_a_place_that_cannot_be_written_is_known_before_the_work(
    given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pinned: Pinned, refuses: Refuses
) -> None:
    real, file = os.open, tmp_path / "file"
    file.write_text("mine")
    for function in ("vsebench.evaluate", "vsebench.sets.catalogue.load_split"):
        monkeypatch.setattr(function, lambda *_, **__: pytest.fail("evaluated first"), raising=False)
    pinned(refused("demo", "--out", file / "demo", code=DISK))
    refuses(DiskError, write_atomically(file / "a" / "b", parents=True).__enter__)
    assert file.read_text() == "mine"

    def read_only(path: Any, flags: int, *more: Any, **kwargs: Any) -> int:
        if flags & os.O_CREAT:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
        return real(path, flags, *more, **kwargs)

    monkeypatch.setattr("os.open", read_only)
    for flag, name in (("-o", "r.json"), ("--per-query", "q.csv"), ("--save-run", "top.json")):
        pinned(refused("eval", given / "e.npz", flag, tmp_path / name, code=DISK))


def test_an_exception_of_the_writer_itself_stays_as_it_is(tmp_path: Path, pinned: Pinned) -> None:
    with pytest.raises(FileNotFoundError), write_atomically(tmp_path / "a"):
        (tmp_path / "absent").read_bytes()
    with pytest.raises(DiskError) as caught, write_atomically(tmp_path / "a"):
        raise OSError(errno.ENOSPC, "No space left on device")
    pinned(caught.value)
    assert list(tmp_path.iterdir()) == []


# endings, names, and what a kill leaves


@pytest.mark.parametrize(
    ("name", "start"), [("x.json", '{\n  "schema"'), ("x.md", "### "), ("x.tex", "% needs"), ("x.HTML", "<!doctype")]
)
def test_the_ending_decides_the_format(name: str, start: str, given: Path, tmp_path: Path) -> None:
    for line in ("compare A.json B.json", "slice A.json --by column --file table.csv", "eval e.npz --metrics R@1"):
        words = line.split()
        command = [*(given / a if "." in a else a for a in words)]
        shown = cli(*command, "-o", tmp_path / name).out
        assert shown == cli(*command).out, "the terminal shows the tables all the same"
        printed = cli(*command, "-o", tmp_path / name, "--json")
        assert printed.json["schema"], "and --json one document, whatever the file has"
        assert (tmp_path / name).read_text().startswith(start), command
        cli(*command, "-o", tmp_path / "any.txt", "--format", "latex")
        assert (tmp_path / "any.txt").read_text().startswith("% needs")


def test_an_ending_of_no_format_is_refused_before_the_work(given: Path, tmp_path: Path, pinned: Pinned) -> None:
    for command in (["compare", given / "A.json", given / "B.json"], ["eval", given / "e.npz"]):
        pinned(refused(*command, "-o", tmp_path / "x.txt"))
        assert not (tmp_path / "x.txt").exists()


def test_a_name_is_limited_in_bytes_and_the_limit_is_named(given: Path, tmp_path: Path) -> None:
    longest = os.pathconf(tmp_path, "PC_NAME_MAX")
    fits = "写" * ((longest - 5) // 3) + ".json"
    assert len(fits.encode()) <= longest < len(("写" + fits).encode())
    command = ["eval", given / "e.npz", "--metrics", "R@1", "-o"]
    assert cli(*command, tmp_path / fits) and (tmp_path / fits).is_file()
    assert f" {longest} " in refused(*command, tmp_path / ("写" + fits))


def test_a_line_ends_at_a_newline_only(tmp_path: Path) -> None:
    """Form feeds and the line separators of Unicode are part of a caption, in every reader of lines."""
    texts = ["a dog\u2028on grass", "two\x0ccats", "one\x1c bird\x85", "[brackets] first"]
    (tmp_path / "c.txt").write_bytes("\r\n".join([*reversed(texts), ""]).encode())
    split = TestSet.captioned("custom", np.arange(4), np.arange(4), np.arange(4))
    assert cache_command._captions(None, tmp_path / "c.txt", "original") == texts[::-1]
    assert with_captions(split, tmp_path / "c.txt").columns.texts == tuple(texts[::-1])
