"""A folder of images: which file belongs to which id, and files that are no images."""

from __future__ import annotations

import io
import os
import re
import struct
import subprocess
import unicodedata
import zlib
from pathlib import Path

import numpy as np
import pytest

from vsebench.analysis import thumbnails
from vsebench.errors import BadInput
from vsebench.files.image_files import find_images, read_image
from vsebench.types import TestSet


def new_image(path: Path, mode: str = "RGB", size: tuple[int, int] = (5, 4), **more) -> Path:
    pytest.importorskip("PIL.Image", reason="Pillow is not installed (extra: scenes)").new(mode, size, **more).save(
        path
    )
    return path


def empty_files(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def found(folder: Path, ids: list, names: dict[str, str] | None = None) -> list[str]:
    files = find_images(folder, np.array(ids), names)
    return [path.relative_to(folder).as_posix() for path in files.paths]


@pytest.mark.parametrize(
    ("ids", "files"),
    [
        (["a.jpg", "b.jpg"], ["a.jpg", "b.jpg"]),
        (["val/a.jpg", "train/a.jpg"], ["val/a.jpg", "train/a.jpg"]),  # the path decides before the name
        (["val/a.jpg"], ["deep/inside/a.jpg"]),
        (["./a.jpg", "sub\\b.jpg"], ["a.jpg", "sub/b.jpg"]),
        (["a", "b"], ["x/a.png", "b.JPEG"]),  # names without endings
        ([391895, 7], ["val2014/COCO_val2014_000000391895.jpg", "000000000007.jpg"]),
        (["COCO_val2014_000000391895.jpg"], ["000000391895.jpg"]),
        (["1007129816.jpg"], ["flickr30k-images/1007129816.jpg"]),
    ],
)
def test_the_file_of_an_id(tmp_path, ids, files):
    empty_files(tmp_path, *files)
    assert found(tmp_path, ids) == files
    empty_files(tmp_path, "dog.jpg", "cats/cat.jpg", "1.jpg")  # names that the captions state
    assert found(tmp_path, [1, 2], {"1": "dog.jpg", "2": "cats/cat.jpg"}) == ["dog.jpg", "cats/cat.jpg"]


def test_other_files_are_counted_or_ignored(tmp_path):
    empty_files(tmp_path, "a.jpg", "b.jpg", "notes.txt", "._a.jpg", ".thumbs/a.jpg", "more/c.webp")
    (tmp_path / "more" / "up").symlink_to(tmp_path)  # a circle
    assert find_images(tmp_path, np.array(["a.jpg"])).unused == 2  # b.jpg and c.webp


@pytest.mark.parametrize(
    ("ids", "files"),
    [
        (["a.jpg", "b.jpg", "c.jpg"], ["a.jpg"]),
        ([12], ["x/12.jpg", "y/12.png"]),
        (["a.jpg"], ["x/a.jpg", "y/a.jpg"]),
        (["7", "007.jpg"], ["007.jpg"]),
        (["a.jpg"], ["a.txt"]),
        (["a.jpg"], []),
    ],
)
def test_a_folder_that_does_not_fit(tmp_path, ids, files, refuses):
    folder = empty_files(tmp_path / "photos", *files)
    caught = refuses(BadInput, find_images, folder, np.array(ids))
    assert caught.where == str(folder) and caught.fix
    refuses(BadInput, find_images, empty_files(tmp_path, "a.zip") / "a.zip", np.array(["a.jpg"]))


def test_damaged_images_are_named(tmp_path, refuses):
    image_module = pytest.importorskip("PIL.Image", reason="Pillow is not installed (extra: scenes)")
    pixels = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
    image_module.fromarray(pixels).save(tmp_path / "whole.png")
    data = (tmp_path / "whole.png").read_bytes()
    assert np.array_equal(np.asarray(read_image(tmp_path / "whole.png")), pixels)
    (tmp_path / "cut.png").write_bytes(data[: len(data) // 2])
    (tmp_path / "page.jpg").write_text("<html>Not found</html>")
    (tmp_path / "empty.jpg").touch()
    for name in ("cut.png", "page.jpg", "empty.jpg", "missing.jpg"):
        caught = refuses(BadInput, read_image, tmp_path / name)
        assert caught.where == str(tmp_path / name)


def test_every_mode_becomes_rgb_and_a_jpeg_may_be_decoded_smaller(tmp_path):
    for mode in ("L", "P", "RGBA", "CMYK", "1"):
        image = read_image(new_image(tmp_path / "image.tiff", mode))
        assert (image.mode, image.size) == ("RGB", (5, 4))
    path = new_image(tmp_path / "a.jpg", size=(1600, 1200), color=(10, 200, 90))
    assert read_image(path).size == (1600, 1200) and read_image(path, 288).size == (400, 300)


GREY = np.arange(256, dtype=np.uint8).reshape(16, 16)  # all levels of 8 bits
DEEP = (GREY.astype(np.uint16) << 8) + np.arange(256, dtype=np.uint16)[::-1].reshape(16, 16)  # and bits below them


def tiff_of(values: np.ndarray, bits: int, white: int = 1, sample: int = 1, order: str = "<") -> bytes:
    """A grey image: tag 262 says whether ``white`` is the largest value (1) or 0; tag 339 whether values are signed."""
    data = values.astype(values.dtype.newbyteorder(order)).tobytes()
    if bits == 12:  # two numbers in three bytes
        a, b = values.reshape(-1, 2).T
        data = np.stack([a >> 4, (a & 15) << 4 | b >> 8, b & 255], axis=1).astype(np.uint8).tobytes()
    tags = {256: 16, 257: 16, 258: bits, 259: 1, 262: white, 273: 200, 277: 1, 278: 16, 279: len(data), 339: sample}
    fields = b"".join(struct.pack(f"{order}HHII", tag, 4, 1, value) for tag, value in tags.items())
    start = (b"II" if order == "<" else b"MM") + struct.pack(f"{order}HIH", 42, 8, len(tags))
    return (start + fields).ljust(200, b"\0") + data


def deep_files() -> dict[str, bytes]:
    """The same grey image with more than 8 bits, as different programs write it."""
    image_module = pytest.importorskip("PIL.Image", reason="Pillow is not installed (extra: scenes)")

    def saved(values: np.ndarray, kind: str) -> bytes:
        stream = io.BytesIO()
        image_module.fromarray(values).save(stream, kind)
        return stream.getvalue()

    return {
        "16-bit PNG": saved(DEEP, "PNG"),
        "16-bit TIFF": saved(DEEP, "TIFF"),
        "16-bit TIFF, most significant byte first": tiff_of(DEEP, 16, order=">"),
        "16-bit TIFF, white is 0": tiff_of(65535 - DEEP, 16, white=0),
        "12-bit TIFF": tiff_of(DEEP >> 4, 12),
    }


@pytest.mark.parametrize("kind", range(5))
def test_grey_images_of_more_bits_are_scaled_to_8(tmp_path, log, kind, pinned):
    path = tmp_path / "image"
    path.write_bytes([*deep_files().values()][kind])
    found = np.asarray(read_image(path))
    assert np.array_equal(found, np.repeat(GREY[:, :, None], 3, axis=2))
    pinned(log.notes)


@pytest.mark.parametrize(
    "values, bits, sample",
    [
        (DEEP.astype(np.float32), 32, 3),
        (DEEP.astype(np.int32), 32, 2),
        (DEEP.astype(np.int16), 16, 2),  # Hounsfield units
        (GREY.astype(np.int8), 8, 2),
        (DEEP >> 4, 16, 1),  # 12 bits, which nothing says
    ],
)
def test_values_without_a_stated_range_are_refused(tmp_path, values, bits, sample, pinned):
    image_module = pytest.importorskip("PIL.Image", reason="Pillow is not installed (extra: scenes)")
    path = tmp_path / "image.tif"
    path.write_bytes(tiff_of(values, bits, sample=sample))
    with pytest.raises(BadInput) as caught:
        read_image(path)
    assert caught.value.where == str(path)
    pinned(caught.value)
    scaled = (values.astype(float) - values.min()) * 255 / (float(values.max()) - float(values.min()))
    image_module.fromarray(scaled.round().astype(np.uint8)).save(path)  # the fix
    assert np.array_equal(np.asarray(read_image(path))[:, :, 0], scaled.round())


def test_names_of_files_in_another_unicode_form(tmp_path):
    composed = "caf\u00e9.jpg"
    empty_files(tmp_path, unicodedata.normalize("NFD", composed))
    assert [unicodedata.normalize("NFC", name) for name in found(tmp_path, [composed])] == [composed]


def png_of(width: int, height: int) -> bytes:
    """The beginning of a PNG that states a size, and one black row."""
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(bytes(width + 1))),
    ]
    packed = (struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)


def test_the_size_of_an_image_is_checked_before_it_is_decoded(tmp_path, recwarn, monkeypatch, pinned, refuses):
    """Of all these one row is there. Pillow itself only warns of those in the middle."""
    pytest.importorskip("PIL", reason="Pillow is not installed (extra: scenes)")
    path = tmp_path / "bomb.jpg"
    for width, height in ((50_000, 1_001), (10_000, 10_000), (60_000, 60_000)):
        path.write_bytes(png_of(width, height))
        with pytest.raises(BadInput) as caught:
            read_image(path)
        if width < 60_000:  # Pillow refuses the largest one itself
            pinned(caught.value)
    monkeypatch.setattr("vsebench.files.image_files.MAX_PIXELS", 1_000)
    path.write_bytes(png_of(100, 10))
    assert read_image(path).size == (100, 10)
    path.write_bytes(png_of(100, 11))
    refuses(BadInput, read_image, path)
    assert not recwarn.list


OTHERS = {
    "EPS": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n",
    "DDS": b"DDS " + struct.pack("<I", 124) + bytes(120),
    "AVIF": b"\0\0\0\x20ftypavif" + bytes(40),
    "BLP": b"BLP2" + bytes(200),
    "PPM": b"P6 1 1 255\n\xff\xff\xff",
}


@pytest.mark.parametrize("kind", OTHERS)
def test_other_formats_are_not_opened(tmp_path, monkeypatch, kind, refuses):
    pytest.importorskip("PIL", reason="Pillow is not installed (extra: scenes)")
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a program was started"))
    path = tmp_path / "image.jpg"
    path.write_bytes(OTHERS[kind])
    refuses(BadInput, read_image, path)


def test_bad_images_of_a_report_are_counted_and_named(tmp_path):
    new_image(tmp_path / "0.png", size=(30, 20))
    for at, content in enumerate(OTHERS.values(), start=1):
        (tmp_path / f"{at}.jpg").write_bytes(content)
    os.mkfifo(tmp_path / "6.jpg")
    split = TestSet.captioned("custom", np.arange(7), np.arange(7), np.arange(7), tuple("abcdefg"))
    made, notes = thumbnails.make(tmp_path, split, range(7))
    assert sorted(made) == [0] and len(notes) == 1
    assert notes[0].startswith("6 image files cannot be read: 1.jpg cannot be read as an image (not JPEG, ")
    assert notes[0].endswith("; ....")
    for file in tmp_path.glob("[1-5].jpg"):
        file.unlink()
    assert (
        "1 image file cannot be read: 6.jpg is not a regular file" in thumbnails.make(tmp_path, split, range(7))[1][-1]
    )


def test_images_are_opened_in_one_place():
    root = Path(__file__).resolve().parents[2]
    files = [p for package in ("vsebench", "train_reference") for p in (root / package).rglob("*.py")]
    opening = re.compile(r"\b(Image|engine)\.open\(")
    assert [p.name for p in files if opening.search(p.read_text(encoding="utf-8"))] == ["image_files.py"]
    importing = {p.relative_to(root).as_posix() for p in files if "from PIL import Image" in p.read_text("utf-8")}
    assert importing == {"vsebench/files/image_files.py", "vsebench/scenes/coco.py"}  # the second one writes
