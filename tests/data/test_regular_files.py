"""Every file that a command reads is a regular one: a named pipe or a device is refused before it is opened."""

from __future__ import annotations

import builtins
import io
import os
import typing
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import vsebench
from tests import human_files
from tests import leaderboard_worlds as worlds
from vsebench.cli import app
from vsebench.data.regular import check_file, read_bytes
from vsebench.errors import BadInput

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")

# Command line -> the ending of the file, with FILE in its place. What is named beside it is in the folder of ``given``.
READ = {
    "eval FILE": ".npz",
    "eval i.npy FILE": ".npy",
    "eval i.npy --texts FILE": ".npy",
    "eval --scores FILE": ".npy",
    "eval --run i2t=FILE": ".txt",
    "eval e.npz --captions FILE --metrics cider:NCS@10": ".txt",
    "eval e.npz --gains FILE --metrics NCS@10": ".npy",
    "eval e.npz --captions c.txt --gains wmd:FILE --metrics NCS@10": ".txt",
    "eval e.npz --captions c.txt --gains sentence:FILE --metrics NCS@10": ".npy",
    "eval e.npz --captions c.txt --gains cider:df=FILE --metrics NCS@10": ".jsonl",
    "unimodal FILE --labels l.npy": ".npy",
    "unimodal i.npy --labels FILE": ".npy",
    "unimodal i.npy --labels l.npy --queries FILE": ".txt",
    "compare A.json FILE": ".json",
    "agree A.json B=FILE": ".json",
    "slice FILE --by positives": ".json",
    "slice A.json --by column --file FILE": ".csv",
    "slice A.json --by length --captions FILE": ".txt",
    "choice FILE --set o.json": ".npy",
    "choice s.csv --set FILE": ".json",
    "choice s.csv --set o.json --baseline FILE": ".csv",
    "report FILE -o page.html": ".json",
    "report A.json -o page.html --captions FILE": ".txt",
    "export FILE --to mteb": ".json",
    "inspect FILE": ".npz",
    "inspect i.npy --texts FILE": ".npy",
    "correlate cxc --tasks sits --human-data human --embeddings FILE": ".npz",
    "correlate cxc --tasks sits --human-data human --embeddings i.npy --texts FILE": ".npy",
    "train-reference --config FILE": ".toml",
    "encode open_clip:ViT-B-32/openai --images photos --captions FILE": ".csv",
    "data build own --from FILE": ".jsonl",
    "relevance import spice FILE": ".json",
    "relevance import spice t.jsonl --captions c.txt --synsets FILE": ".tsv",
    "relevance import spice t.jsonl --synsets c.txt --captions FILE": ".txt",
    "relevance build spice --captions FILE": ".txt",
    "relevance export spice out.json --captions FILE": ".txt",
    "leaderboard add FILE --name x": ".json",
}
# Files of folders that are named, by their place there.
IN_FOLDERS = {
    "leaderboard validate": ("papers.json", "claims.json", "published/x.json", "entries/x.json", "suites/x.json"),
    "leaderboard build": ("papers.json", "entries/x.json"),
    "eval leaderboards": ("img_emb/img_emb_0.npy",),
}
# Parameters that name a folder, or what is written.
FOLDERS = {"folder", "path", "images", "out", "human_data", "figures"}
WRITTEN = {"output", "per_query", "save_run", "figure"}


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with good files, which is the current one; nothing but regular files can be opened."""
    rng = np.random.default_rng(0)
    images = rng.standard_normal((12, 8)).astype(np.float32)
    texts = images + rng.standard_normal((12, 8)).astype(np.float32)
    np.savez(tmp_path / "e.npz", image_embeddings=images, text_embeddings=texts, image_index=np.arange(12))
    np.save(tmp_path / "i.npy", images)
    np.save(tmp_path / "l.npy", rng.standard_normal((12, 2)))
    (tmp_path / "c.txt").write_text("a man\n" * 12)
    (tmp_path / "t.jsonl").write_text("[]\n" * 12)
    (tmp_path / "o.json").write_text('[{"image": "a", "captions": ["a", "b"]}]')
    (tmp_path / "s.csv").write_text("id,score_0,score_1\n0,1,2\n")
    human_files.cxc(tmp_path / "human", "sits", [(human_files.caption(1), human_files.image(1), 1.0, "x")])
    (tmp_path / "photos").mkdir()
    vsebench.evaluate(images, texts, captions_per_image=1, metrics="R@1").save(tmp_path / "A.json")
    worlds.folder(tmp_path / "leaderboards")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))

    def regular(original: Callable[..., typing.Any]) -> Callable[..., typing.Any]:
        def opened(file: typing.Any, *args: typing.Any, **options: typing.Any) -> typing.Any:
            special = not isinstance(file, int) and (Path(os.fsdecode(file)).is_fifo() or Path(file).is_char_device())
            if special and Path(file).suffix:
                raise AssertionError(f"{file} was opened")
            return original(file, *args, **options)

        return opened

    for module in (builtins, io):
        monkeypatch.setattr(module, "open", regular(module.open))
    return tmp_path


def special(kind: str, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if kind == "a named pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    return path


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", ["a named pipe", "a device"])
@pytest.mark.parametrize("line", READ)
def test_files_of_options(given: Path, line: str, kind: str) -> None:
    path = special(kind, given / f"special{READ[line]}")
    done = CliRunner().invoke(app, line.replace("FILE", str(path)).split())
    said = " ".join(done.output.split())
    if done.exit_code == 4:
        pytest.skip(f"not installed: {said}")
    assert done.exit_code in (2, 3) and f"is {kind}, not a regular file" in said, (done.exit_code, said)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", ["a named pipe", "a device"])
@pytest.mark.parametrize(("line", "name"), [(line, name) for line, names in IN_FOLDERS.items() for name in names])
def test_files_of_folders(given: Path, line: str, name: str, kind: str) -> None:
    special(kind, given / "leaderboards" / name)
    done = CliRunner().invoke(app, line.split())
    said = " ".join(done.output.split())
    assert done.exit_code in (1, 3) and f"is {kind}, not a regular file" in said, (done.exit_code, said)


def test_every_parameter_that_names_a_file_is_tried() -> None:
    """A new option of type Path needs a line above, or is one that names a folder or what is written."""
    commands = [(c.name or "", c.callback) for c in app.registered_commands]
    commands += [
        (f"{g.name} {c.name}", c.callback) for g in app.registered_groups for c in g.typer_instance.registered_commands
    ]
    missing = []
    for name, callback in commands:
        own = [line for line in READ if line.startswith(f"{name} ")]
        for parameter, hint in typing.get_type_hints(callback).items():
            if Path not in (hint, *typing.get_args(hint)) or parameter in FOLDERS | WRITTEN:
                continue
            option = {"source": "from"}.get(parameter, parameter).replace("_", "-")
            named = [x for x in own if f"--{option} FILE" in x]
            place = [
                x for x in own if parameter in ("file", "result", "report") and "FILE" in x.replace("--file FILE", "")
            ]
            missing += [] if named or place else [f"{name}: {parameter}"]
    assert missing == [] and len(commands) > 25


def test_what_is_no_regular_file(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"{}")
    (tmp_path / "link.json").symlink_to("a.json")
    assert read_bytes(tmp_path / "a.json", "fix") == read_bytes(tmp_path / "link.json", "fix") == b"{}"
    (tmp_path / "loop").symlink_to("loop")
    for path, what in (
        (tmp_path, "this is a folder"),
        (tmp_path / "b.json", "no such file"),
        (tmp_path / "loop", "cannot be opened"),
        (Path("/dev/zero"), "is a device, not a regular file"),
        (tmp_path / ("x" * 3000), "cannot be opened"),
    ):
        with pytest.raises(BadInput, match=what):
            check_file(path, "fix")


def test_the_advice_for_a_missing_file(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"{}")
    (tmp_path / "gone").symlink_to("nowhere")
    assert read_bytes(tmp_path / "a.json", "fix", missing="make it first") == b"{}"
    for path, what, fix in (
        (tmp_path / "aa.json", "no such file", "make it first"),
        (tmp_path / "no" / "a.json", "no such file", "make it first"),
        (tmp_path, "this is a folder", "fix"),
        (tmp_path / "gone", "is a link to a missing file (nowhere)", "repair the link"),
    ):
        with pytest.raises(BadInput) as caught:
            read_bytes(path, "fix", missing="make it first")
        assert (caught.value.what, caught.value.fix) == (what, fix)
