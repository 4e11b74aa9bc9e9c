"""A folder of images: which file belongs to which id, and files that are no images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vsebench.data.image_files import find_images, read_image
from vsebench.errors import BadInput


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


def test_names_that_the_captions_state(tmp_path):
    empty_files(tmp_path, "dog.jpg", "cats/cat.jpg", "1.jpg")
    assert found(tmp_path, [1, 2], {"1": "dog.jpg", "2": "cats/cat.jpg"}) == ["dog.jpg", "cats/cat.jpg"]


def test_other_files_are_counted_or_ignored(tmp_path):
    empty_files(tmp_path, "a.jpg", "b.jpg", "notes.txt", "._a.jpg", ".thumbs/a.jpg", "more/c.webp")
    (tmp_path / "more" / "up").symlink_to(tmp_path)  # a circle
    assert find_images(tmp_path, np.array(["a.jpg"])).unused == 2  # b.jpg and c.webp


@pytest.mark.parametrize(
    ("ids", "files", "message"),
    [
        (["a.jpg", "b.jpg", "c.jpg"], ["a.jpg"], r"2 of the 3 images with captions have no file \(first: b\.jpg\)"),
        ([12], ["x/12.jpg", "y/12.png"], "image '12' is x/12.jpg or y/12.png"),
        (["a.jpg"], ["x/a.jpg", "y/a.jpg"], "image 'a.jpg' is x/a.jpg or y/a.jpg"),
        (["7", "007.jpg"], ["007.jpg"], "images '7' and '007.jpg' are the same file: 007.jpg"),
        (["a.jpg"], ["a.txt"], "no image is in this folder or below it"),
        (["a.jpg"], [], "no such folder of images"),
    ],
)
def test_a_folder_that_does_not_fit(tmp_path, ids, files, message):
    folder = empty_files(tmp_path / "photos", *files)
    with pytest.raises(BadInput, match=message) as caught:
        find_images(folder, np.array(ids))
    assert caught.value.where == str(folder) and caught.value.fix


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "a.zip").touch()
    with pytest.raises(BadInput, match="this is a file"):
        find_images(tmp_path / "a.zip", np.array(["a.jpg"]))


def test_damaged_images_are_named(tmp_path):
    image_module = pytest.importorskip("PIL.Image", reason="Pillow is not installed (extra: scenes)")
    pixels = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
    image_module.fromarray(pixels).save(tmp_path / "whole.png")
    data = (tmp_path / "whole.png").read_bytes()
    assert np.array_equal(np.asarray(read_image(tmp_path / "whole.png")), pixels)
    (tmp_path / "cut.png").write_bytes(data[: len(data) // 2])
    (tmp_path / "page.jpg").write_text("<html>Not found</html>")
    (tmp_path / "empty.jpg").touch()
    for name in ("cut.png", "page.jpg", "empty.jpg", "missing.jpg"):
        with pytest.raises(BadInput, match="cannot be read as an image") as caught:
            read_image(tmp_path / name)
        assert caught.value.where == str(tmp_path / name)


def test_every_mode_becomes_rgb(tmp_path):
    image_module = pytest.importorskip("PIL.Image", reason="Pillow is not installed (extra: scenes)")
    for mode in ("L", "P", "RGBA", "CMYK", "1"):
        image_module.new(mode, (5, 4)).save(tmp_path / "image.tiff")
        image = read_image(tmp_path / "image.tiff")
        assert (image.mode, image.size) == ("RGB", (5, 4))
