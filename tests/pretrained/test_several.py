"""Several models and sets in one call, images in parquet files and archives, and the choices of an encoder."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench
from tests import clip_models
from tests.commands import cli, document
from tests.messages import Pinned, Refuses
from vsebench.errors import BadInput, UsageError
from vsebench.pretrained import several

torch = pytest.importorskip("torch", reason="torch is not installed (extra: clip)")
pytest.importorskip("PIL", reason="Pillow is not installed (extra: clip)")
pytest.importorskip("open_clip", reason="open_clip_torch is not installed (extra: clip)")

FILES = ["a.png", "b.png", "c.png", "d.png"]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("models")
    return [clip_models.open_clip_folder(folder / "one"), clip_models.open_clip_folder(folder / "two")]


@pytest.fixture
def photos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of four images, ``captions.csv`` beside it with two captions each; a cache of its own."""
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)
    clip_models.captions_csv(tmp_path / "captions.csv", FILES)
    return clip_models.photos(tmp_path / "photos", FILES)


def strings(path: Path = Path("captions.csv")) -> list[str]:
    return [line.partition(",")[2] for line in path.read_text().splitlines()[1:]]


def as_parquet(photos: Path, path: Path) -> None:
    """As hub data sets are stored: a struct of bytes and name, and a list of captions."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = strings()
    images = [{"bytes": (photos / name).read_bytes(), "path": name} for name in FILES]
    captions = [rows[2 * i : 2 * i + 2] for i in range(len(FILES))]
    parquet.write_table(arrow.table({"image": images, "captions": captions, "image_id": FILES}), path)


def as_tar(photos: Path, path: Path, files: list[str] = FILES, broken: bool = False) -> None:
    """A shard of webdataset: KEY.png and KEY.json."""
    rows = strings()
    with tarfile.open(path, "w") as archive:
        for name in files:
            i = FILES.index(name)
            content = b"no image" if broken and name == "b.png" else (photos / name).read_bytes()
            for ending, data in (("png", content), ("json", json.dumps({"caption": rows[2 * i : 2 * i + 2]}).encode())):
                entry = tarfile.TarInfo(f"{Path(name).stem}.{ending}")
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))


def vectors(path: Path) -> tuple[Any, Any]:
    with np.load(path) as arrays:
        return arrays["image_embeddings"], arrays["text_embeddings"]


@pytest.mark.parametrize("kind", ["parquet", "tar"])
def test_stored_images_have_the_vectors_of_a_folder(kind: str, models: list[Path], photos: Path):
    stored = Path("stored")
    stored.mkdir()
    if kind == "parquet":
        as_parquet(photos, stored / "test-00000-of-00001.parquet")
    else:
        as_tar(photos, stored / "000.tar", FILES[:2])
        as_tar(photos, stored / "001.tar", FILES[2:])
    wanted = vsebench.encode(models[0], photos, "captions.csv")
    found = vsebench.encode(models[0], stored)
    assert found.split.columns.texts == tuple(strings()) == wanted.split.columns.texts
    assert np.array_equal(found.split.image_of, wanted.split.image_of)
    assert np.array_equal(found.images.vectors, wanted.images.vectors)
    assert np.array_equal(found.captions.vectors, wanted.captions.vectors)


@pytest.mark.parametrize("middle", [".v{}", ".v2", ".a.b", ""])
def test_names_in_an_archive_may_have_dots(middle: str, models: list[Path], photos: Path, pinned: Pinned):
    """Versions of one name (``a.v1.png``) are images of their own; hidden files of macOS are none."""
    with tarfile.open("dots.tar", "w") as archive:
        for i, (name, row) in enumerate(zip(FILES, strings()[::2], strict=True)):
            stem = ("x" if "{}" in middle else name[0]) + middle.format(i)
            content = {f"{stem}.png": (photos / name).read_bytes(), f"{stem}.txt": row.encode()}
            for member, data in {**content, f"._{stem}.png": b"", f"__MACOSX/._{stem}.png": b""}.items():
                entry = tarfile.TarInfo(f"./{member}")
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
    wanted = vsebench.encode(models[0], photos, "captions.csv")
    found = vsebench.encode(models[0], "dots.tar")
    assert np.array_equal(found.images.vectors, wanted.images.vectors)
    assert np.array_equal(found.captions.vectors, wanted.captions.vectors[::2])
    pinned(found.notes)


def test_two_images_of_one_name_in_an_archive(models: list[Path], photos: Path, refuses: Refuses):
    with tarfile.open("twice.tar", "w") as archive:
        for name in ("a.png", "a.jpg"):
            archive.add(photos / "a.png", name)
    refuses(BadInput, vsebench.encode, models[0], "twice.tar")


def test_every_model_and_set_once(models: list[Path], photos: Path, monkeypatch: pytest.MonkeyPatch):
    as_tar(photos, Path("half.tar"), FILES[:2])
    loads: list[str] = []
    load = several.Loaded.__init__

    def counted(self: Any, model: Any, *args: Any) -> None:
        loads.append(model.slug)
        load(self, model, *args)

    monkeypatch.setattr(several.Loaded, "__init__", counted)
    as_tar(photos, Path("all.tar"))
    both = ["all.tar", "half.tar"]
    files = vsebench.encode_all(models, both, output="out")
    assert [f.path.name for f in files] == ["one-all.npz", "one-half.npz", "two-all.npz", "two-half.npz"]
    assert loads == ["one", "two"] and not any(f.kept for f in files)
    one = vsebench.encode(models[1], "half.tar")
    assert np.array_equal(vectors(files[3].path)[0], one.images.vectors)
    before = {f.path: f.path.read_bytes() for f in files}
    files[1].path.write_bytes(before[files[1].path][:200])  # damaged
    files[2].path.unlink()
    again = vsebench.encode_all(models, both, output="out")
    assert [f.kept for f in again] == [True, False, False, True]
    for path in before:
        assert all(map(np.array_equal, vectors(path), vectors_of(before[path])))
    as_tar(photos, Path("half.tar"), FILES[1:3])
    assert [f.kept for f in vsebench.encode_all(models, both, output="out")] == [True, False, True, False]


def vectors_of(content: bytes) -> tuple[Any, Any]:
    with np.load(io.BytesIO(content)) as arrays:
        return arrays["image_embeddings"], arrays["text_embeddings"]


def test_choices_are_in_the_file_and_in_the_signature(models: list[Path], photos: Path):
    plain = vsebench.encode(models[0], photos, "captions.csv", output="plain.npz")
    rows = [f"a photo: {s.lower()}" for s in strings()]
    named = Path("lower.csv")
    lines = Path("captions.csv").read_text().splitlines()
    named.write_text("\n".join([lines[0], *(f"{x.split(',')[0]},{r}" for x, r in zip(lines[1:], rows, strict=True))]))
    wanted = vsebench.encode(models[0], photos, named)
    found = vsebench.encode(models[0], photos, "captions.csv", lower=True, template="a photo: {}", output="p.npz")
    assert np.array_equal(found.captions.vectors, wanted.captions.vectors)
    assert not np.array_equal(found.captions.vectors, plain.captions.vectors)
    assert found.split.columns.texts == plain.split.columns.texts, "gains are those of the captions, not of the prompt"
    assert found.about["choices"] == {"lower": True, "template": "a photo: {}"} and "choices" not in plain.about
    options = {"metrics": "R@1", "ci": 0, "trust": True}
    assert "|encoder:lower,template=a photo: {}|" in vsebench.evaluate("p.npz", **options).signature
    assert "encoder:" not in vsebench.evaluate("plain.npz", **options).signature


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_half_precision_is_near(precision: str, models: list[Path], photos: Path):
    full = vsebench.encode(models[0], photos, "captions.csv")
    half = vsebench.encode(models[0], photos, "captions.csv", precision=precision)
    for one, other in ((full.images, half.images), (full.captions, half.captions)):
        assert other.vectors.dtype == np.float32 and not np.array_equal(one.vectors, other.vectors)
        assert np.abs(one.vectors - other.vectors).max() < 0.1
        assert np.allclose(np.linalg.norm(other.vectors, axis=1), 1, atol=1e-5)
    assert half.about["precision"] == {"bf16": "bfloat16", "fp16": "float16"}[precision]


def test_a_shorter_context_cuts_captions(models: list[Path], photos: Path):
    full = vsebench.encode(models[0], photos, "captions.csv")
    short = vsebench.encode(models[0], photos, "captions.csv", context_length=4)
    assert np.array_equal(full.images.vectors, short.images.vectors)
    assert not np.array_equal(full.captions.vectors, short.captions.vectors)
    assert any("longer than 4 tokens" in note for note in short.notes)


def test_the_command_prints_a_table_of_models(models: list[Path], photos: Path):
    as_tar(photos, Path("all.tar"))
    words = ["encode", *map(str, models), "--images", "all.tar", "-o", "out", "--metrics", "R@1"]
    found = document(*words)
    assert [Path(f["file"]).name for f in found["files"]] == ["one-all.npz", "two-all.npz"]
    assert len(found["tables"]) == 1
    table = cli(*words)
    assert "one" in table.out and "two" in table.out and "kept" in table.err


WRONG: dict[str, tuple[dict[str, Any], type[Exception]]] = {
    "no place": ({"template": "a photo"}, UsageError),
    "two places": ({"template": "{} {}"}, UsageError),
    "a long context": ({"context_length": 90}, UsageError),
    "another precision": ({"precision": "int8"}, UsageError),
    "no image": ({"images": "broken.tar"}, BadInput),
    "no archive": ({"images": "text.tar"}, BadInput),
    "twice": ({"images": "twice"}, BadInput),
    "without captions": ({"images": "photos"}, UsageError),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named(case: str, models: list[Path], photos: Path, refuses: Refuses):
    as_tar(photos, Path("good.tar"))
    as_tar(photos, Path("broken.tar"), broken=True)
    Path("text.tar").write_text("no archive")
    Path("twice").mkdir()
    for name in ("a.tar", "b.tar"):
        as_tar(photos, Path("twice") / name)
    given, kind = WRONG[case]
    refuses(kind, vsebench.encode_all, models[0], **{"images": "good.tar", **given}, output="out.npz")
    assert not Path("out.npz").exists()
