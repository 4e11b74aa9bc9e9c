"""Files of embeddings and of scores become arrays; everything else is refused with a message."""

from __future__ import annotations

import io
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.embedding_files import FULL, IMAGE_IDS, IMAGES, OWNER, RNG, TEXT_IDS, TEXTS, same, save, save_deflated
from tests.messages import Pinned, Refuses
from tests.notes import with_notes
from vsebench import memory
from vsebench.errors import BadInput, UsageError
from vsebench.files import read
from vsebench.files.captions import from_file
from vsebench.files.ids import as_ids, canonical
from vsebench.files.members import opened
from vsebench.files.read import holds_both

read_embeddings, read_scores = (partial(with_notes, one) for one in (read.read_embeddings, read.read_scores))

# --- npz -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("writer", [save, save_deflated])
def test_npz_is_read_completely(tmp_path: Path, writer: Any) -> None:
    raw = read_embeddings(writer(tmp_path / "e.npz", **FULL))
    same(raw, "npz")
    assert raw.sources == (tmp_path / "e.npz",) and raw.notes == ()
    (tmp_path / "e.npz").rename(tmp_path / "embeddings.h5")  # the name does not matter
    same(read_embeddings(str(tmp_path / "embeddings.h5")), "npz")


def test_names_ignore_case_and_unused_arrays_are_noted(tmp_path: Path) -> None:
    raw = read_embeddings(
        save(tmp_path / "e.npz", IMG_embs=IMAGES, Caps=TEXTS, img_ids=IMAGE_IDS, text_gallery=np.ones(8, bool))
    )
    assert raw.image_ids is not None and raw.text_ids is None
    assert raw.notes == ("ignored arrays: text_gallery (8,) bool",)


def test_keys_given_by_the_user(tmp_path: Path, refuses: Refuses) -> None:
    path = save(tmp_path / "e.npz", a=IMAGES, b=TEXTS)
    assert np.array_equal(read_embeddings(path, image_key="a", text_key="b").texts, TEXTS)
    refuses(BadInput, read_embeddings, path)
    refuses(BadInput, read_embeddings, path, image_key="a", text_key="B2")
    refuses(UsageError, read_embeddings, path, image_key="a", text_key="a")


def test_two_names_of_one_field_are_ambiguous(tmp_path: Path, refuses: Refuses) -> None:
    path = save(tmp_path / "e.npz", images=IMAGES, img=IMAGES, texts=TEXTS)
    refuses(BadInput, read_embeddings, path)
    assert read_embeddings(path, image_key="img").notes == ("ignored arrays: images (4, 3) float32",)
    both = {"caption_ids": TEXT_IDS, "sentence_ids": TEXT_IDS}
    named = save(tmp_path / "i.npz", images=IMAGES, texts=TEXTS, **both)
    refuses(BadInput, read_embeddings, named)


def test_strings_of_captions_are_not_taken_for_vectors(tmp_path: Path) -> None:
    raw = read_embeddings(
        save(tmp_path / "e.npz", images=IMAGES, captions=np.array(["a dog"] * 8), caption_embeddings=TEXTS)
    )
    assert raw.texts.shape == (8, 3) and raw.notes == () and raw.captions == ("a dog",) * 8
    said = np.array([f"caption {n}" for n in range(8)])
    raw = read_embeddings(save(tmp_path / "e.npz", images=IMAGES, texts=TEXTS, captions=said.reshape(4, 2)))
    assert raw.captions == tuple(said) and raw.image_of_text is not None and np.array_equal(raw.image_of_text, OWNER)
    assert raw.derived and raw.holds == "rows" and "'captions' is (image, caption)" in raw.notes[0]


@pytest.mark.parametrize("name", ["mask", "num_captions", "flat"])
@pytest.mark.parametrize("owners", [False, True])
def test_a_mask_of_captions_is_refused_with_its_way_out(
    tmp_path: Path, name: str, owners: bool, refuses: Refuses
) -> None:
    counts, texts = np.array([1, 2, 3, 1]), RNG.standard_normal((4, 3, 3))
    there = np.arange(3) < counts[:, None]
    given = {"mask": there.astype(int), "num_captions": counts, "flat": there.ravel()}
    arrays = {"images": IMAGES, "texts": texts, "mask" if name == "flat" else name: given[name]}
    if name == "flat":
        arrays["texts"] = texts.reshape(12, 3)
    if owners and name == "flat":
        arrays["image_of_text"] = np.repeat(np.arange(4), 3)
    path = save(tmp_path / "e.npz", **arrays)
    assert holds_both(opened(path))
    caught, saved = refuses(BadInput, read_embeddings, path), dict(arrays)
    exec(str(caught.fix).partition(": ")[2].replace("(true for a caption)", ""), {"np": np}, saved)
    raw = read_embeddings(save(path, **{key: saved[key] for key in ("images", "texts", "image_of_text")}))
    assert np.array_equal(raw.texts, texts[there]) and raw.image_of_text.tolist() == np.nonzero(there)[0].tolist()
    full = read_embeddings(save(path, images=IMAGES, texts=texts, mask=np.ones((4, 3)), num_captions=np.full(4, 3)))
    assert np.array_equal(full.texts, texts)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", ">f4", ">f8"])
def test_floats_keep_their_width_and_come_in_native_order(tmp_path: Path, dtype: str) -> None:
    raw = read_embeddings(save(tmp_path / "e.npz", images=IMAGES.astype(dtype), texts=TEXTS))
    assert raw.images.dtype == np.dtype(dtype).newbyteorder("=") and raw.images.dtype.isnative
    assert np.array_equal(raw.images, IMAGES.astype(dtype))


def test_fortran_order_and_other_dimensions_are_read(tmp_path: Path) -> None:
    regions = RNG.standard_normal((4, 36, 3)).astype(np.float32)
    raw = read_embeddings(save(tmp_path / "e.npz", images=regions, texts=np.asfortranarray(TEXTS)))
    assert raw.images.shape == (4, 36, 3) and np.array_equal(raw.texts, TEXTS)
    assert read_embeddings(save(tmp_path / "0.npz", images=IMAGES[:0], texts=TEXTS)).images.shape == (0, 3)


def test_an_object_array_that_is_not_needed_is_ignored(tmp_path: Path, refuses: Refuses) -> None:
    path = save(tmp_path / "e.npz", images=IMAGES, texts=TEXTS, meta=np.array([{"a": 1}], dtype=object))
    assert read_embeddings(path).notes == ("ignored arrays: meta (1,) object",)
    path = save(tmp_path / "i.npz", images=IMAGES, texts=TEXTS, image_ids=np.array(["a", 1], dtype=object))
    refuses(BadInput, read_embeddings, path)


def npy_bytes(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, array)
    return out.getvalue()


def test_archives_that_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuses: Refuses) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(tmp_path / "d.npz", "w") as archive:
        archive.writestr("images.npy", npy_bytes(IMAGES))
        archive.writestr("images.npy", npy_bytes(TEXTS))
    refuses(BadInput, read_embeddings, tmp_path / "d.npz")
    path = save(tmp_path / "e.npz", images=IMAGES, texts=TEXTS)
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        start = archive.start_dir
    data[start + 8] |= 1  # encrypted: flag bits of the first entry in the directory
    data[6] |= 1
    path.write_bytes(data)
    refuses(BadInput, read_embeddings, path)
    path = save_deflated(tmp_path / "e.npz", images=np.zeros((4096, 64), np.float32), texts=TEXTS)
    read_embeddings(path)
    monkeypatch.setattr(memory, "free_memory", lambda: 2**19)
    refuses(BadInput, read_embeddings, path)

    def denied(*_: Any, **__: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", denied)
    refuses(BadInput, read_embeddings, path)


# --- npy pair --------------------------------------------------------------------------------------------


def test_npy_pair(tmp_path: Path) -> None:
    np.save(tmp_path / "i.npy", IMAGES)
    np.save(tmp_path / "t.npy", np.asfortranarray(TEXTS.astype(">f4")))
    raw = read_embeddings(tmp_path / "i.npy", texts=tmp_path / "t.npy")
    assert raw.format == "npy pair" and raw.sources == (tmp_path / "i.npy", tmp_path / "t.npy")
    assert isinstance(raw.images.base, np.memmap) and not raw.images.flags.writeable
    assert np.array_equal(raw.images, IMAGES) and np.array_equal(raw.texts, TEXTS) and raw.image_ids is None


def test_npy_pairs_that_do_not_work(tmp_path: Path, refuses: Refuses) -> None:
    i, o, s = (tmp_path / f"{name}.npy" for name in "ios")
    np.save(i, IMAGES)
    np.save(o, np.array([{}], dtype=object), allow_pickle=True)
    np.save(s, np.zeros((3, 15)))
    refuses(BadInput, read_embeddings, i)
    refuses(BadInput, read_embeddings, s)
    refuses(BadInput, read_embeddings, o, texts=i)
    refuses(UsageError, read_embeddings, i, image_key="x", texts=i)
    path = save(tmp_path / "e.npz", **FULL)
    refuses(UsageError, read_embeddings, path, texts=i)
    refuses(UsageError, read_embeddings, i, texts=path)


# --- score matrices --------------------------------------------------------------------------------------

SCORES = np.random.default_rng(0).standard_normal((4, 20)).astype(np.float32)
ROWS = np.arange(4)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_npy(tmp_path: Path, order: Any, dtype: str) -> None:
    np.save(tmp_path / "s.npy", np.asarray(SCORES, dtype, order=order))
    raw = read_scores(str(tmp_path / "s.npy"))
    assert raw.format == "npy" and raw.sources == (tmp_path / "s.npy",) and raw.notes == ()
    assert isinstance(raw.values.base, np.memmap) and raw.values.dtype == dtype
    assert np.array_equal(raw.values, SCORES.astype(dtype))
    assert raw.image_ids is None and raw.text_ids is None and raw.image_of_text is None


@pytest.mark.parametrize("name", ["scores", "sims", "Sim", "similarity", "similarities", "matrix"])
def test_npz_by_name(tmp_path: Path, name: str) -> None:
    np.savez(tmp_path / "s.npz", **{name: SCORES, "image_ids": ROWS, "txt2img": np.repeat(ROWS, 5), "other": SCORES})
    raw = read_scores(tmp_path / "s.npz")
    assert raw.format == "npz" and np.array_equal(raw.values, SCORES)
    assert raw.image_ids is not None and raw.image_ids.tolist() == [0, 1, 2, 3]
    assert raw.image_of_text is not None and len(raw.image_of_text) == 20
    assert raw.notes == ("ignored arrays: other (4, 20) float32",)


def test_the_only_matrix(tmp_path: Path, refuses: Refuses) -> None:
    np.savez(tmp_path / "s.npz", SCORES, caption_ids=np.arange(20)[:, None])
    raw = read_scores(tmp_path / "s.npz")
    assert raw.notes == ("scores are read from 'arr_0', the only two-dimensional array",)
    assert raw.text_ids is not None and raw.text_ids.shape == (20,)
    np.savez(tmp_path / "t.npz", a=SCORES, b=SCORES)
    refuses(BadInput, read_scores, tmp_path / "t.npz")
    assert np.array_equal(read_scores(tmp_path / "t.npz", key="b").values, SCORES)
    refuses(BadInput, read_scores, tmp_path / "t.npz", key="c")


def test_matrices_that_are_refused(tmp_path: Path, refuses: Refuses) -> None:
    for names in (("images", "texts"), ("images",), ("scores", "sims")):
        np.savez(tmp_path / "e.npz", **dict.fromkeys(names, SCORES))
        refuses(BadInput, read_scores, tmp_path / "e.npz")
    refuses(BadInput, read_scores, tmp_path)


def test_a_stored_member_behind_an_odd_offset(tmp_path: Path) -> None:
    np.save(tmp_path / "scores.npy", SCORES)
    for extra in range(4):
        with zipfile.ZipFile(tmp_path / "s.npz", "w") as archive:
            archive.writestr("pad.txt", "x" * extra)
            archive.write(tmp_path / "scores.npy", "scores.npy")
        scores = read_scores(tmp_path / "s.npz").values
        assert np.array_equal(scores @ np.ones(20), SCORES @ np.ones(20))


def test_other_formats(tmp_path: Path) -> None:
    h5py, torch = pytest.importorskip("h5py"), pytest.importorskip("torch")
    with h5py.File(tmp_path / "s.h5", "w") as file:
        file["run/sims"], file["run/img_ids"] = SCORES, ROWS
    assert read_scores(tmp_path / "s.h5").image_ids is not None
    pytest.importorskip("safetensors.numpy").save_file({"scores": SCORES}, tmp_path / "s.safetensors")
    torch.save(torch.from_numpy(SCORES), tmp_path / "s.pt")
    for ending, name in (("h5", "hdf5"), ("safetensors", "safetensors"), ("pt", "torch")):
        raw = read_scores(tmp_path / f"s.{ending}")
        assert raw.format == name and np.array_equal(raw.values, SCORES)
    assert raw.notes == ("scores are read from 'tensor', the only two-dimensional array",)


# --- what a path can be ----------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"  <HTML>", b'{"i2t": {}}', ("\u00e9" * 5000).encode()[:4097]])
def test_files_that_hold_no_arrays(tmp_path: Path, data: bytes, refuses: Refuses) -> None:
    (tmp_path / "e.npz").write_bytes(data)
    refuses(BadInput, read_embeddings, tmp_path / "e.npz")


def test_paths_that_are_no_files(tmp_path: Path, refuses: Refuses) -> None:
    (tmp_path / "embeddings.npz").write_bytes(b"x")
    refuses(BadInput, read_embeddings, tmp_path / "embedings.npz")
    refuses(BadInput, read_embeddings, tmp_path / "embeddings.npz" / "x")
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    refuses(BadInput, read_embeddings, tmp_path / "link")
    refuses(BadInput, read_embeddings, Path("a\0b"))


# --- the real thing --------------------------------------------------------------------------------------


@pytest.mark.real_data
def test_a_real_file(real_data: Path, pinned: Pinned) -> None:
    raw = read_embeddings(real_data / "proxy" / "coco5k_minilm_proxy.npz")
    assert raw.images.shape == (5000, 384) and raw.texts.shape == (25000, 384)
    assert raw.images.dtype == np.float16 and raw.image_ids is not None and raw.text_ids is not None
    assert raw.image_ids.dtype == np.int64 and raw.image_ids[0] == 391895
    assert raw.notes == ("ignored arrays: text_gallery (25000,) bool",)
    with pytest.raises(BadInput) as caught:
        read_embeddings(real_data / "proxy" / "coco5k_label_proxy.npz")
    pinned(caught.value.what)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (np.array([1, 2], np.uint8), [1, 2]),
        (np.array([1, 2], ">i4"), [1, 2]),
        (np.array([1.0, 391895.0]), [1, 391895]),
        (np.array([[1], [2]]), [1, 2]),
        (np.array(["391895", "0"]), [391895, 0]),
        (np.array([b"7", b"8"]), [7, 8]),
        (np.array(["391895", "007"]), ["391895", "007"]),
        (np.array(["-1", "2"]), ["-1", "2"]),
        (np.array(["1", "9223372036854775808"]), ["1", "9223372036854775808"]),
        (np.array(["\u0661", "2"]), ["\u0661", "2"]),
        (np.array(["caf\u00e9", "cafe\u0301"]), ["caf\u00e9", "cafe\u0301"]),
        (np.array(["\u56fe\u7247.jpg".encode()]), ["\u56fe\u7247.jpg"]),
    ],
)
def test_ids_are_numbers_or_names(given: np.ndarray, expected: list[Any]) -> None:
    before = given.copy()
    ids = as_ids(given, "image_ids", "f.npz")
    assert ids.tolist() == expected and ids.dtype.kind in "iU"
    assert ids.dtype.kind != "i" or ids.dtype == np.int64
    assert np.array_equal(given, before)


@pytest.mark.parametrize(
    "given", [np.array([1.0, np.nan]), np.array([2.0**25], np.float32), np.array(5), np.array([True])]
)
def test_ids_that_are_refused(given: np.ndarray, refuses: Refuses) -> None:
    refuses(BadInput, as_ids, given, "image_ids", "f.npz")


@pytest.mark.timeout(20)  # a second; a search of the folder from every place of an id would take hours
def test_folders_of_long_ids_are_left_out() -> None:
    long = "x" * 300_000
    ids = np.array([f"a/b\\{long}1", f"a//{long}2", f"{long}3/", "/", "a//", "b"])
    assert canonical(ids).tolist() == [f"{long}1", f"{long}2", f"{long}3/", "/", "/", "b"]


@pytest.mark.parametrize("name", ["#NAME?", "#VALUE!", "#REF!", "#N/A", "7.90012E+17", "1,2e+15"])
def test_ids_that_a_spreadsheet_destroyed(name: str, tmp_path: Path, refuses: Refuses) -> None:
    refuses(BadInput, as_ids, np.array(["a", name]), "image_ids", "f.npz")
    rows = [("image", "caption"), ("a", "a dog"), (name, "a cat")]
    (tmp_path / "captions.csv").write_text("".join(f'"{a}","{b}"\n' for a, b in rows))
    refuses(BadInput, from_file, tmp_path / "captions.csv")


@pytest.mark.parametrize("name", ["#1", "NAME?", "1E5", "e+10", "3E+1x", "#NAME"])
def test_ids_that_look_a_little_like_it(name: str) -> None:
    assert as_ids(np.array(["a", name]), "image_ids", "f.npz").tolist() == ["a", name]
