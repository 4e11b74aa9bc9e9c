"""Training data: ``open_data`` finds one of four functions by ``data.name``, which gives train, val and test."""

import hashlib
import json
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import vsebench as vb
from vsebench.errors import BadInput, UsageError, VsebenchError, count_of
from vsebench.files import find_images, places, read_captions, read_image, read_vectors

from .config import LABELS, Config, is_scenes
from .data import PARTS, ImageFiles, Images, Int, Part, PartName

Array = npt.NDArray[Any]
KINDS = {2: "vectors", 3: "regions"}  # of images, by the dimensions of an array
Parts = dict[PartName, Part]
STEMS: dict[PartName, tuple[str, ...]] = {"train": ("train",), "val": ("dev", "val"), "test": ("testall", "test")}
NAMES: dict[PartName, str] = {"train": "train restval", "val": "val dev valid validation", "test": "test"}
OF_VECTORS = (".npz", ".npy", ".safetensors", ".pt", ".pth", ".h5", ".hdf5")
OF_CAPTIONS = (".json", ".jsonl", ".csv", ".tsv", ".parquet", ".arrow", ".gz")
DECLARED = {"coco-5k": (5000, 25000), "f30k": (1000, 5000)}  # images and captions
GRID, KEY = 32, 64  # cells of a side of a scene, of its layout; numbers at the start of a row that tell most rows apart
TITLES = "scenes-10k, a folder with train_ims.npy, a file of vectors (features.npz) or of captions (dataset_coco.json)"


def open_data(config: Config) -> Parts:
    """The parts of the data that a configuration names; training captions are cut to ``data.first``. Raises UsageError
    for an unknown name or settings that do not fit, BadInput for a damaged file, MissingPackage."""
    data, name = config.data, config.data.name
    folder = any((Path(name).expanduser() / f"{stem}_ims.npy").is_file() for stem in sum(STEMS.values(), ()))
    known = {scenes: is_scenes(name), precomp: folder, vectors: name.lower().endswith(OF_VECTORS),
             image_files: name.lower().endswith(OF_CAPTIONS)}  # fmt: skip
    source = next((source for source, fits in known.items() if fits), None)
    if source is None or ((data.captions or data.key) and source is not vectors):
        fix = f"give {TITLES}; only a file of vectors has --captions and --key"
        raise UsageError(f"no data '{name}' with such settings", fix=fix)
    parts = source(config)
    kinds = [f"{part.images.kind} of width {part.images.width}" for part in parts.values()]
    if len(set(kinds)) > 1:
        raise BadInput(
            f"the images are {', '.join(kinds)} in the parts", where=name, fix="encode all images in the same way"
        )
    if config.loss.relevance == LABELS and (data.labels or parts["train"].labels is None):
        parts = labelled(parts, data.labels)
    split = parts["train"].split
    count = max(2, round(len(split.columns.ids) * data.first))
    if count < len(split.columns.ids):
        ids, texts = split.columns.ids[:count], parts["train"].captions[:count]
        kept = vb.TestSet.captioned(split.name, split.rows.ids, ids, split.owners[:count], texts)
        parts["train"] = replace(parts["train"], split=kept)
    return parts


def labelled(parts: Parts, file: str) -> Parts:
    """The parts with the labels of the images in an .npz file, by id; raises UsageError, BadInput."""
    fix = "save them: numpy.savez('labels.npz', image_ids=..., labels=...), and add --set data.labels=labels.npz"
    if not file:
        raise UsageError("the images have no labels", fix=fix)
    try:
        with np.load(Path(file).expanduser()) as stored:
            ids, labels = stored["image_ids"], stored["labels"]
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise BadInput(f"no file of labels with ids ({error})", where=file, fix=fix) from error
    labels, distance = labels[:, None] if labels.ndim == 1 else labels, "miou" if labels.ndim == 3 else "euclidean"
    every = {name: labels[rows_of(ids, part.split, Path(file))] for name, part in parts.items()}
    return {name: replace(part, labels=every[name], distance=distance) for name, part in parts.items()}


def rows_of(ids: Array, split: vb.TestSet, where: Path) -> Int:
    """(image,) the row of every image of a test set; raises BadInput for one that is not among the ids (row,)."""
    index = places(ids, split.rows.ids)
    if len(lost := split.rows.ids[index < 0]):
        what = f"has no row for {count_of(len(lost), 'image')} of {split.name} (first: {lost[0]})"
        raise BadInput(what, where=where, fix="save one row per image, with image_ids")
    return index


def scenes(config: Config) -> Parts:
    """Scenes, which are built if they are not there: sets of regions, or pixels; labels are their layouts."""
    stored, found = vb.build_scenes(config.data.name), Parts()
    for part in PARTS:
        rows = stored.part(part)
        if config.data.features == "pixels":
            images = Images(stored.images[rows], "pixels")
        else:
            start = np.asarray(stored.region_start[rows.start : rows.stop + 1])
            images = Images(stored.regions, "regions", start=start[:-1], stop=start[1:])
        found[part] = Part(vb.load_split(f"{stored.name}-{part}", captions=True), images)
    if config.loss.relevance == LABELS:
        layouts = np.zeros((len(stored.images), GRID, GRID), np.uint8)  # 1: the centre of the cell is in a square
        centres = (np.arange(GRID) + 0.5) * (stored.settings.size / GRID)
        with (stored.folder / "scenes.jsonl").open(encoding="utf-8") as lines:
            for layout, line in zip(layouts, lines, strict=True):
                for box in (box for group in json.loads(line)["groups"] for box in group["boxes"]):
                    x, y = (slice(*np.searchsorted(centres, (box[side], box[side + 2]))) for side in (0, 1))
                    layout[y, x] = 1
        found = {name: replace(p, labels=layouts[stored.part(name)], distance="miou") for name, p in found.items()}
    return found


def precomp(config: Config) -> Parts:
    """A folder of features as VSE++ and SCAN read them: ``train_ims.npy``, ``train_caps.txt``, and of dev and test.
    Features are (image, width) or (image, region, width), and are memory-mapped. Images may be repeated for each of
    their captions: rows that are exactly equal are one image. ``train_ids.tsv`` may have a line ``image id <TAB>
    caption id`` for every caption. Raises BadInput for a file that is missing, damaged or does not fit."""
    folder, found = Path(config.data.name).expanduser(), Parts()
    for part, stems in STEMS.items():
        stem = next((stem for stem in stems if (folder / f"{stem}_ims.npy").is_file()), stems[-1])
        features, file, ids = (folder / f"{stem}_{rest}" for rest in ("ims.npy", "caps.txt", "ids.tsv"))
        array, captions = mapped(features), lines_of(file)
        if ids.is_file():
            rows = [line.partition("\t")[::2] for line in lines_of(ids)]
            image_ids, caption_ids = np.array(rows).T
            names = image_ids if len(array) == len(captions) else unique(image_ids)
            ordered = names is image_ids or (np.diff(places(names, image_ids)) >= 0).all()
            if len(rows) != len(captions) or "" in caption_ids or len(names) != len(array) or not ordered:
                what = f"does not match {len(captions):,} captions and {len(array):,} images in {features}"
                raise BadInput(what, where=ids, fix=f"write 'image id <TAB> caption id' for every line of {file}")
            one_row_each(array, names, features)
        else:
            image_ids, caption_ids = images_of(array, len(captions), features, file), np.arange(len(captions))
            names = image_ids if len(array) == len(captions) else np.arange(len(array))
        split = test_set(f"{folder.name}-{part}", image_ids, caption_ids, captions, where=str(ids))
        found[part] = Part(split, Images(array, KINDS[array.ndim], features, rows_of(names, split, features)))
    return found


def vectors(config: Config) -> Parts:
    """A file of vectors, with the captions in ``data.captions``; an .npy file may have (image, region, width). Images
    are matched by their ids; vectors without ids are those of the images in the order in which the captions name them,
    or one for every caption. Raises UsageError without captions, and BadInput for files that do not fit."""
    path, key = Path(config.data.name).expanduser(), config.data.key or None
    if not config.data.captions:
        raise UsageError("caption file not found", where=path, fix="pass --captions FILE (data.captions)")
    table = read_captions(config.data.captions)
    array, ids = (mapped(path), None) if path.suffix == ".npy" and key is None else read_vectors(path, key)
    if ids is None:
        images, of_captions = unique(table.image_id), np.array(table.image_id[table.caption.notna()].tolist())
        ids = of_captions if len(array) == len(of_captions) > len(images) else images
        if len(ids) != len(array):
            what = f"{count_of(len(array), 'vector')} without ids for {count_of(len(ids), 'image')}"
            fix = "save the image ids with the vectors, as image_ids"
            raise BadInput(f"{what} in {config.data.captions}", where=path, fix=fix)
    one_row_each(array, ids, path)
    of = splits(table, path.stem, config)
    return {
        part: Part(split, Images(array, KINDS[array.ndim], path, rows_of(ids, split, path)))
        for part, split in of.items()
    }


def image_files(config: Config) -> Parts:
    """A file of captions, with the folder of its images in ``data.images``, cropped by ``model.crop``. Raises
    UsageError without a folder, and BadInput for damaged files and missing images."""
    if not config.data.images:
        raise UsageError("image folder not found", where=config.data.name, fix="set data.images=FOLDER")
    table = read_captions(config.data.name)
    found, entry = Parts(), config.model.image_encoder
    names = {str(image): file for image, file in zip(table.image_id, table.file, strict=True) if file}
    for part, split in splits(table, Path(config.data.name).stem, config).items():
        paths = find_images(Path(config.data.images).expanduser(), split.rows.ids, names).paths
        for path in paths[:: max(1, len(paths) // 8)]:  # a wrong kind of file shows at once
            read_image(path)
        crop = "center" if config.model.crop == "random" and part != "train" else config.model.crop
        found[part] = Part(split, Images(ImageFiles(paths, crop, entry.resize, entry.side), "pixels"))
    return found


def splits(table: Any, stem: str, config: Config) -> dict[PartName, vb.TestSet]:
    """The captions of every part; without parts a tenth of the images, always the same, is val, another one test."""
    where, images = config.data.captions or config.data.name, unique(table.image_id)
    if table.part.notna().any():
        named = {name: part for part, names in NAMES.items() for name in names.split()}
        part_of = table.part.map(str).map(named).where(config.data.restval | (table.part != "restval"))
        if (both := part_of.groupby(table.image_id).nunique() > 1).any():
            fix = "put all captions of an image into one part"
            raise BadInput(f"image {both.index[both][0]} is in two parts", where=where, fix=fix)
    else:
        drawn = np.random.default_rng(0).permutation(len(images))
        block = np.minimum(drawn // max(1, round(0.1 * len(images))), 2)
        part_of = table.image_id.map(dict(zip(images.tolist(), np.array(PARTS)[2 - block].tolist(), strict=True)))
    found: dict[PartName, vb.TestSet] = {}
    for part in PARTS:
        own = table[part_of == part]
        said = own[own.caption.notna()]
        if not len(said):
            what = f"has no captions for {part} ({NAMES[part]})"
            raise BadInput(what, where=where, fix="give captions of three parts, or of more images without parts")
        others = own.image_id[own.caption.isna()]
        found[part] = test_set(f"{stem}-{part}", said.image_id, said.caption_id, said.caption, others, where)
    return found


def test_set(
    name: str, image_ids: Any, caption_ids: Any, captions: Any, others: Any = (), where: str = ""
) -> vb.TestSet:
    """Captions and their images (caption,), and images without a caption, as a test set. One with the ids of
    ``coco-5k`` or ``f30k`` is that set, in its order and with its judgements. Raises BadInput."""
    images = unique([*image_ids, *others])
    try:
        own = np.array(list(caption_ids))
        split = vb.TestSet.captioned(name, images, own, places(images, np.array(list(image_ids))), tuple(captions))
    except VsebenchError as error:
        error.where = error.where or where
        raise
    for known, size in DECLARED.items():
        if split.shape == size:
            with suppress(VsebenchError):
                declared = vb.load_split(known)
                at = places(own, declared.columns.ids)
                if (at >= 0).all() and (places(images, declared.rows.ids) >= 0).all():
                    return declared.with_texts([split.columns.texts[n] for n in at.tolist()])  # type: ignore[index]
    return split


def unique(values: Any) -> Array:
    """Distinct values in the order of their first appearance."""
    return np.array(list(dict.fromkeys(values)))


def mapped(path: Path) -> Array:
    """Features (image, width) or (image, region, width) of an .npy file, memory-mapped; raises BadInput."""
    try:
        array: Array = np.load(path, mmap_mode="r")
    except (OSError, ValueError) as error:
        fix = "a folder of features has train, dev and test, each with _ims.npy and _caps.txt"
        raise BadInput(f"cannot be read: {error}", where=path, fix=fix) from error
    if array.ndim not in (2, 3) or array.dtype.kind not in "fiu" or 0 in array.shape:
        what = f"an array {array.shape} of {array.dtype}"
        raise BadInput(what, where=path, fix="give features (image, width) or (image, region, width), float32")
    return array


def lines_of(path: Path) -> list[str]:
    """The lines of a text in UTF-8; raises BadInput."""
    try:
        return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except (OSError, ValueError) as error:
        raise BadInput(
            f"cannot be read: {error}", where=path, fix="give a UTF-8 text file with one caption per line"
        ) from error


def images_of(array: Array, captions: int, features: Path, file: Path) -> Int:
    """(caption,) its image: as many captions for each row, or a row a caption, of which some are equal. Raises BadInput
    if the captions cannot be divided among the rows, or few images are not repeated as the others."""
    rows = len(array)
    if captions % rows:
        what = f"{count_of(captions, 'caption')}, but {count_of(rows, 'image')} in {features}"
        raise BadInput(
            what, where=file, fix="give the same number of captions for every image, or ids in train_ids.tsv"
        )
    if rows != captions:
        return np.arange(captions) // (captions // rows)
    often = Counter(starts := [row.ravel()[:KEY].tobytes() for row in array])
    once = (s if often[s] < 2 else hashlib.sha256(row.tobytes()).digest() for row, s in zip(array, starts, strict=True))
    seen: dict[bytes, int] = {}
    image_of = np.array([seen.setdefault(key, len(seen)) for key in once])
    times = int(np.argmax(np.bincount(np.bincount(image_of))))  # the usual number of rows of an image
    blocks = image_of[: rows - rows % times].reshape(-1, times)
    odd = np.flatnonzero((blocks != blocks[:, :1]).any(axis=1)) * times
    if 0 < len(odd) < 0.1 * len(blocks):
        what = f"rows {odd[0]} to {odd[0] + times - 1} differ, but elsewhere {times} rows are one image"
        raise BadInput(what, where=features, fix=f"repeat every image {times} times, or none; or write train_ids.tsv")
    return image_of


def one_row_each(array: Array, image_ids: Array, where: Path) -> None:
    """Refuse rows (row, ...) of one image (row,) that differ."""
    _, first, inverse = np.unique(image_ids, return_index=True, return_inverse=True)
    for row in np.flatnonzero(first[inverse] != np.arange(len(array))):
        if not np.array_equal(array[row], array[at := first[inverse[row]]]):
            what = f"rows {at} and {row} belong to one image, but differ"
            raise BadInput(what, where=where, fix="give every image one row, or identical rows for its captions")
