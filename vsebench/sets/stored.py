"""COCO and Flickr30K as data; built splits in the cache; packages that hold a split, and the proof that rows are it."""

from __future__ import annotations

import importlib.util
import json
import zipfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..errors import BadInput, MissingPackage, count_of, install
from ..files.atomic import write_atomically
from ..files.caption_rows import CaptionRows, rows_sha256, set_sha256
from ..files.ids import canonical, places
from ..files.regular import cache_dir, file_stem, opened, reading, split_of
from ..files.textfile import parse_json
from ..types import Ids


@dataclass(frozen=True)
class DeclaredSplit:
    """A test set that papers report on: its size, the fingerprints of its ids, its licence and its sources.

    Attributes:
        name: the name on the command line.
        built_as: the split with the items in its cached file (COCO 1K is a view of COCO 5K).
        images: number of images.
        captions: number of captions; of those below five for every image, consecutive.
        fold_size: images in each contiguous fold, or None.
        rows_sha256: of the lines ``<image id> <caption id>\\n`` of all captions in canonical order.
        images_sha256: of the sorted image ids in the form of ``ids.canonical``, one a line; needs no order.
        captions_sha256: of the sorted caption ids likewise.
        order: origin of the canonical order: the ``package`` eccv_caption, the ids ``sorted`` as text, or the order
            of the ``file`` a custom data set was built from.
        cite: publications to cite.
        licence: the known terms of use.
        sources: the files and packages it can be built from, for messages.
    """

    name: str
    built_as: str
    images: int
    captions: int
    fold_size: int | None
    rows_sha256: str
    images_sha256: str
    captions_sha256: str
    order: Literal["package", "sorted", "file"]
    cite: str
    licence: str
    sources: tuple[str, ...]

    @property
    def in_folds(self) -> bool:
        """Whether it is the view of another split in which every query is ranked within its fold."""
        return self.built_as != self.name


_COCO_CITE = (
    "Lin et al., Microsoft COCO: Common Objects in Context, ECCV 2014; Chen et al., Microsoft COCO Captions, "
    "arXiv 1504.00325; split of Karpathy and Fei-Fei, Deep Visual-Semantic Alignments, CVPR 2015"
)
_COCO_LICENCE = "terms of use at cocodataset.org; vsebench reads your copy and redistributes nothing"
_COCO_SOURCES = (
    "packages eccv_caption and pycocoevalcap (extra text)",
    "captions_val2014.json of the official annotations",
    "Karpathy's dataset_coco.json",
    "JSON lines with caption_id, image_id, caption",
)


def _coco(name: str) -> DeclaredSplit:
    return DeclaredSplit(
        name=name,
        built_as="coco-5k",
        images=5_000,
        captions=25_000,
        fold_size=1_000,
        rows_sha256="63e3f11b32d1f151532c4b83e73625d8f377e55a22f35562e92e3f0a05a736cc",
        images_sha256="d20da3dd48646d91a7ff7837c1c1f591d52c75e72921b2fd7f6854dc1093339f",
        captions_sha256="913c01643dcef07102e6874469fcb25e3f1017f88c228729153e6aca80954722",
        order="package",
        cite=_COCO_CITE,
        licence=_COCO_LICENCE,
        sources=_COCO_SOURCES,
    )


DECLARED: dict[str, DeclaredSplit] = {
    split.name: split
    for split in (
        _coco("coco-5k"),
        _coco("coco-1k"),
        DeclaredSplit(
            name="f30k",
            built_as="f30k",
            images=1_000,
            captions=5_000,
            fold_size=None,
            rows_sha256="b7d567c0c89b84cc5968239cec5579e7f8f55f0883acd7a58af17fd3b5100d36",
            images_sha256="54dc951c21dacbfb66999ddcb4216ec13e09468bb4af3e4cad4a0b015ebc6d07",
            captions_sha256="b7e29f741fd072fdf210b5210a835613dc266e99e53981317449d47b6656457b",
            order="sorted",
            cite=(
                "Young et al., From Image Descriptions to Visual Denotations, TACL 2014; split of Karpathy and "
                "Fei-Fei, Deep Visual-Semantic Alignments, CVPR 2015"
            ),
            licence="distributed for research use; vsebench reads your copy and redistributes nothing",
            sources=("Karpathy's dataset_flickr30k.json", "JSON lines with image, caption_index, caption"),
        ),
    )
}


FORMAT = 1


def stored_path(name: str) -> Path:
    """The file in the cache that holds split ``name``, whether or not it exists."""
    return cache_dir() / "splits" / f"{file_stem(name)}.npz"


def stored_names() -> list[str]:
    """The splits with a file in the cache, sorted."""
    folder = stored_path("any").parent
    try:
        return sorted(
            split_of(path.stem) for path in folder.iterdir() if path.suffix == ".npz" and not path.name.startswith(".")
        )
    except OSError:
        return []


def store(path: Path, rows: CaptionRows, about: dict[str, Any] | None = None) -> None:
    """Write caption rows with their captions; the file appears complete or not at all.

    Args:
        path: the file.
        rows: in the order of the split.
        about: the fields of the declaration, for ``declaration``.

    Raises:
        BadInput: no captions, or a caption that is not Unicode.
        DiskError: the cache folder cannot be written.
    """
    if rows.captions is None:
        raise BadInput("holds ids but no captions", where=rows.origin, fix="give a file that holds captions")
    try:
        text = np.frombuffer("".join(rows.captions).encode("utf-8"), np.uint8)
    except UnicodeEncodeError as error:
        raise BadInput("a caption holds half of a surrogate pair", where=rows.origin, fix="save it as UTF-8") from error
    with write_atomically(path, parents=True) as stream:
        np.savez_compressed(
            stream,
            format=np.asarray(FORMAT),
            image_id=rows.image_id,
            caption_id=rows.caption_id,
            # One string and the end of every caption in it: numpy keeps no strings of varying length without pickle.
            text=text,
            others=np.zeros(0, rows.image_id.dtype) if rows.others is None else rows.others,
            text_end=np.cumsum([len(t) for t in rows.captions], dtype=np.int64),
            about=np.frombuffer(json.dumps(about).encode(), np.uint8),
        )


def restore(path: Path, *, captions: bool, again: str = "") -> CaptionRows:
    """Read what ``store`` wrote; without ``captions`` that part of the file is not touched.

    Args:
        path: the file.
        captions: also read the captions.
        again: the command that writes it again; by default ``rebuild``.

    Raises:
        BadInput: the file is damaged or was written by another version.
    """
    with _opened(path, again) as archive:
        image_id, caption_id = archive["image_id"], archive["caption_id"]
        others = archive.get("others")
        strings: tuple[str, ...] | None = None
        if captions:
            text, ends = archive["text"].tobytes().decode("utf-8"), archive["text_end"].tolist()
            strings = tuple(text[a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True))
    return CaptionRows(image_id, caption_id, strings, str(path), others)


def declare(name: str, rows: CaptionRows) -> DeclaredSplit:
    """The declaration of a data set by its rows, in the order of the split."""
    images, captions = rows.images()[0], rows.caption_id
    sha256 = rows_sha256(rows), set_sha256(canonical(images)), set_sha256(canonical(captions))
    return DeclaredSplit(name, name, len(images), len(captions), None, *sha256, "file", "", "", (rows.origin,))


def declaration(name: str, again: str = "") -> DeclaredSplit:
    """The declaration of a stored split, for which ids and captions are not read; raises BadInput as ``restore``."""
    path = stored_path(name)
    with _opened(path, again) as archive:
        facts = json.loads(archive["about"].tobytes())
        facts["sources"] = tuple(facts["sources"])
        found = DeclaredSplit(**{field.name: facts[field.name] for field in fields(DeclaredSplit)})
    if found.name != name:
        raise BadInput(
            f"holds the data set '{found.name}'", where=path, fix=f"call the file {file_stem(found.name)}.npz"
        )
    return found


def rebuild(name: str) -> str:
    """The command that stores a split again from the user's file."""
    return f"vsebench data build {name} --replace --from FILE"


def is_split(split: DeclaredSplit, image_ids: Ids | None, caption_ids: Ids | None) -> bool:
    """Whether a split has exactly these ids, by fingerprint; one side is enough if the other is unknown."""
    return all(
        len(ids) >= size and set_sha256(canonical(ids)) == sha256
        for ids, size, sha256 in (
            (caption_ids, split.captions, split.captions_sha256),
            (image_ids, split.images, split.images_sha256),
        )
        if ids is not None
    )


def declared_order(rows: CaptionRows, split: DeclaredSplit, again: str = "") -> CaptionRows:
    """The rows in canonical order, proven to be the declared split.

    Rows in another order are sorted: COCO by the ids of the installed package, Flickr30K by name.

    Args:
        rows: rows of a file or package.
        split: the declared split.
        again: the command that rebuilds a split whose order is that of its file.

    Raises:
        BadInput: other numbers of images or captions, other ids, captions of other images, or another order, which
            cannot be corrected without the package.
    """
    if rows_sha256(rows) == split.rows_sha256:
        return rows
    name, fix = split.name, f"give one of: {'; '.join(split.sources)}"
    n_image, n_caption = len(rows.images()[0]), len(rows.caption_id)
    if split.order == "file":
        what, fix = f"the ids of '{name}' differ from the declared ids", f"build it again: {again or rebuild(name)}"
    elif (n_image, n_caption) != (split.images, split.captions):
        what = f"{count_of(n_caption, 'caption')} of {count_of(n_image, 'image')}; "
        what += f"'{name}' has {split.captions:,} of {split.images:,}"
    elif not is_split(split, rows.image_id, rows.caption_id):
        what = f"these are not the ids of '{name}': {_first_other(rows, split)} (the counts match)"
    elif split.order == "package" and not ids_installed():
        what = f"the ids of '{name}' in another order"
        fix = f"{install('text')} (it holds the order), or give a file in Karpathy's order"
    else:
        by_package = split.order == "package"
        ids = rows.caption_id
        order = places(ids, coco_id_rows().caption_id) if by_package else np.argsort(ids, kind="stable")
        if rows_sha256(found := rows.take(order)) == split.rows_sha256:
            return found
        what = f"captions belong to other images than in '{name}'"
    raise BadInput(what, where=rows.origin, fix=fix)


def _first_other(rows: CaptionRows, split: DeclaredSplit) -> str:
    """A caption id that a declared split does not have, or the first one of the rows."""
    if split.order == "package" and ids_installed() and rows.caption_id.dtype.kind == "i":
        unknown = np.setdiff1d(rows.caption_id, coco_id_rows().caption_id)
        if len(unknown):
            return f"{count_of(len(unknown), 'caption is', 'captions are')} unknown, first {unknown[0]}"
    first: Any = rows.caption_id[0].item()
    return f"the first caption id is {first!r}"


@contextmanager
def _opened(path: Path, again: str) -> Iterator[Any]:
    """The archive, with every error of reading as BadInput."""
    fix = f"build it again: {again or rebuild(split_of(path.stem))}"
    opened(path)
    with (
        reading(path, "the stored split is damaged", fix),
        path.open("rb") as stream,
        np.load(stream, allow_pickle=False) as archive,
    ):
        if int(archive["format"]) != FORMAT:
            raise BadInput(f"written in format {int(archive['format'])}, not {FORMAT}", where=path, fix=fix)
        yield archive


IDS_PACKAGE = "eccv_caption"
CAPTIONS_PACKAGE = "pycocoevalcap"
JAR = "spice/spice-1.0.jar"
CAPTIONS_IN_JAR = "coco/annotations/captions_val2014.json"


def package_file(package: str, relative: str) -> Path | None:
    """The path of a file inside an installed package, without importing it, or None."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    for folder in spec.submodule_search_locations or ():
        path = Path(folder) / relative
        if path.is_file():
            return path
    return None


def judgement_file(name: str) -> Path:
    """The path of ``eccv_caption/data/<name>``.

    Raises:
        MissingPackage: the package is not installed.
    """
    path = package_file(IDS_PACKAGE, f"data/{name}")
    if path is None:
        raise MissingPackage(f"package '{IDS_PACKAGE}' is not installed; it holds {name}", fix=install("text"))
    return path


def read_judgements(name: str) -> dict[str, list[int]]:
    """One JSON file of ``eccv_caption``: query id -> ids of its positives.

    Raises:
        MissingPackage: the package is not installed.
        BadInput: the file is damaged.
    """
    path = judgement_file(name)
    with _installed(path):
        content = parse_json(path.read_text(encoding="utf-8"), path)
        if not isinstance(content, dict):
            raise ValueError("no JSON object")
    return content


def ids_installed() -> bool:
    """Whether the ids of the COCO test captions are installed."""
    return package_file(IDS_PACKAGE, "data/coco_test_ids.npy") is not None


def has_captions() -> bool:
    """Whether the COCO captions are installed."""
    return package_file(CAPTIONS_PACKAGE, JAR) is not None


def coco_id_rows() -> CaptionRows:
    """Ids of Karpathy's COCO test captions in their order, without captions; under 0.1 s, cached.

    Raises:
        MissingPackage: ``eccv_caption`` is not installed.
        BadInput: its files are damaged.
    """
    path = judgement_file("coco_test_ids.npy")
    return _id_rows(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=1)  # read several times in a run; the rows are read-only
def _id_rows(path: Path, _changed: int) -> CaptionRows:
    with _installed(path):
        caption_ids: Ids = np.load(path, allow_pickle=False).astype(np.int64)
    image_of = read_judgements("original_caption_to_image.json")
    with _installed(path.parent / "original_caption_to_image.json"):
        image_ids = np.fromiter((image_of[str(i)][0] for i in caption_ids.tolist()), np.int64, len(caption_ids))
    return CaptionRows(image_ids, caption_ids, None, f"package {IDS_PACKAGE}")


def coco_rows() -> CaptionRows:
    """Ids and captions of Karpathy's COCO test captions in their order; about a second.

    Raises:
        MissingPackage: ``eccv_caption`` or ``pycocoevalcap`` is not installed.
        BadInput: their files are damaged.
    """
    ids, path = coco_id_rows(), package_file(CAPTIONS_PACKAGE, JAR)
    if path is None:
        raise MissingPackage(
            f"package '{CAPTIONS_PACKAGE}' is not installed; it holds the COCO captions", fix=install("text")
        )
    with _installed(path), zipfile.ZipFile(path) as archive:
        found = {
            annotation["id"]: annotation for annotation in json.loads(archive.read(CAPTIONS_IN_JAR))["annotations"]
        }
        notes = [found[name] for name in ids.caption_id.tolist()]
        image_id, captions = (
            np.array([annotation["image_id"] for annotation in notes]),
            tuple(annotation["caption"] for annotation in notes),
        )
    return CaptionRows(image_id, ids.caption_id, captions, f"{path}!{CAPTIONS_IN_JAR}")


def _installed(path: Path) -> AbstractContextManager[None]:
    fix = "reinstall it: pip install --force-reinstall --no-cache-dir eccv-caption pycocoevalcap"
    return reading(path, "the installed file is damaged", fix)
