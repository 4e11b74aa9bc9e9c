"""The layouts in which test sets are published: from a file or folder to caption rows; several sets share a reader."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import BadInput, UsageError, count_of
from ..files.caption_rows import CaptionRows
from ..files.captions import Fields, Record, record_rows
from ..files.kinds import Kind
from ..files.members import ids_of
from ..files.npy import npy_member
from ..files.records import missing, of_text
from ..files.regular import is_folder
from ..files.textfile import field, format_field, parse_json, read_text, text_lines

DEPTH = 3  # folders inside a folder in which files are looked for
Read = Iterator[tuple[str, CaptionRows]]  # language, or an empty text, and its rows
_PLAIN = Fields()
_ANY = Kind("captions", "give the published file", {}, ())  # columns of any names


@dataclass(frozen=True)
class Layout:
    """How the files of a set are laid out.

    Attributes:
        shape: what the files look like, in one line, for messages and the documentation.
        read: ``read(source, languages)`` gives the rows of every language that the source has; ``("",)`` for sets
            without languages.
    """

    shape: str
    read: Callable[[Path, Sequence[str]], Read]


def find(source: Path, *patterns: str) -> Path | None:
    """The file with one of these names, plain or as ``.gz``, in a folder or beside a file; None if there is none.

    The first pattern that a file has decides, then the least depth.

    Raises:
        UsageError: two files at the same depth.
    """
    folder = source if is_folder(source) else source.parent
    for pattern in patterns:
        for depth in range(DEPTH):
            found = sorted(path for end in ("", ".gz") for path in folder.glob("*/" * depth + pattern + end))
            if len(found) > 1:
                what = f"holds {found[0].relative_to(folder)} and {found[1].relative_to(folder)}"
                raise UsageError(what, where=folder, fix="give the folder that has one of them, or that file")
            if found:
                return found[0]
    return None


def require(source: Path, *patterns: str) -> Path:
    """As ``find``; raises BadInput if there is no such file."""
    found = find(source, *patterns)
    if found is None:
        raise BadInput(f"holds no {' or '.join(patterns)}", where=source if is_folder(source) else source.parent)
    return found


def one_file(source: Path, *patterns: str) -> Path:
    """The file itself, whatever its name, or the one with such a name in a folder."""
    return require(source, *patterns) if is_folder(source) else source


def records(
    *files: str,
    image: str,
    captions: str | Sequence[str],
    caption_id: str | None = None,
    each: bool = False,
    inside: str = "",
    beside: str = "",
    part: str = "",
    first: int | None = None,
    joined: bool = False,
) -> Layout:
    """Records with named fields, of a caption or of an item with its captions: a table, JSON lines or a JSON document.

    A field may lie inside others: ``sentences.*.raw`` is ``raw`` of every element of ``sentences``, ``talk.1`` the
    second element. ``{}`` in a field or in the name of a file is the language.

    Args:
        files: usual names of the file.
        image: the field with the id of the item.
        captions: the field with the caption or the captions; of several the first that the file has.
        caption_id: the field with the id of the caption.
        each: every one of ``captions`` holds a caption.
        inside: the field of a JSON document that holds the records.
        beside: another such field, with records that complete those of the same item, such as its part.
        part: the value of ``split`` in the records of the test set; empty if they have no such field.
        first: the test set consists of so many records at the beginning.
        joined: all captions of an item are one, a paragraph.
    """
    names = [captions] if isinstance(captions, str) else list(captions)

    def read(source: Path, languages: Sequence[str]) -> Read:
        known: dict[Path, list[Record]] = {}
        for language, path in _of_languages(source, languages, files):
            if path not in known:  # of all languages, or of this one
                known = {path: _records(path, inside, beside, image)}
            found = [row for row in known[path] if not part or row[1].get("split") == part]
            if not found:
                raise BadInput(f"holds no record{part and f' with split {part}'}", where=path)
            fields, (at, first_record) = [name.format(language) for name in names], found[0]
            there = [name for name in fields if _value(first_record, name) is not None]
            if _value(first_record, image) is None or not there or (each and there != fields):
                raise BadInput(f"{at} has the fields {', '.join(list(first_record)[:8])}", where=path)

            def rows(wanted: list[str] = there, found: list[Record] = found) -> Iterator[Record]:
                for at, record in found[:first]:
                    spoken = [_value(record, name) for name in wanted]
                    value = {"image": _value(record, image), "caption": spoken if each else spoken[0]}
                    yield at, value if caption_id is None else {**value, "id": record.get(caption_id)}

            taken = replace(_PLAIN, caption_id=caption_id and "id")
            yield language, record_rows(_paragraphs(rows(), path) if joined else rows(), taken, str(path))

    form = f"records under {inside} of a JSON document" if inside else "a table, JSON lines or a JSON array"
    columns = ", ".join([*filter(None, (caption_id,)), image, *(names if each else names[:1])])
    return Layout(f"{form} with {columns.replace('{}', 'de')}{', a file for each language' * ('{}' in files[0])}", read)


def _records(path: Path, inside: str, beside: str, image: str) -> list[Record]:
    """The records of a file, of any of the three forms."""
    text = read_text(path)
    if not inside:
        found = of_text(text, _ANY, str(path))
        given = [
            {str(name): cell for name, cell in one.items() if isinstance(cell, str) or not missing(cell)}
            for one in found.to_dict("records")
        ]
        return [(str(found.attrs["at"]).format(n), one) for n, one in zip(found.index, given, strict=True)]
    document = parse_json(text, path)
    found, others = (document.get(key) if isinstance(document, dict) else None for key in (inside, beside))
    if not isinstance(found, list) or not all(isinstance(record, dict) for record in found):
        raise BadInput(f"is not a JSON array of objects under {inside}", where=path)
    known = {str(other.get(image)): other for other in others if isinstance(other, dict)} if beside and others else {}
    return [(f"{inside}[{i}]", {**known.get(str(record.get(image)), {}), **record}) for i, record in enumerate(found)]


def _value(record: Any, field: str) -> Any:
    """The value of a field, which may lie inside others; None if there is none."""
    if isinstance(record, Mapping) and field in record:
        return record[field]
    step, dot, rest = field.partition(".")
    if not dot:
        return record[int(step)] if isinstance(record, list) and step.isdecimal() and int(step) < len(record) else None
    if step == "*":
        return [_value(element, rest) for element in record] if isinstance(record, list) else None
    return _value(_value(record, step), rest)


def _paragraphs(records: Iterable[Record], path: Path) -> Iterator[Record]:
    """One record per item: its caption joins all captions of the item, in their order."""
    spoken: dict[Any, list[str]] = {}
    for at, record in records:
        captions = field(record, "caption", (str, list), spot := f"{path}: {at}")
        texts = spoken.setdefault(field(record, "image", (int, str), spot), [])
        texts += [captions] if isinstance(captions, str) else map(str, captions)
    yield from ((f"item {name}", {"image": name, "caption": " ".join(texts)}) for name, texts in spoken.items())


def annotated_images(listed: str, folder: str, image: str, captions: Sequence[str]) -> Layout:
    """A JSON object with an image for each file of a folder, and lists of these files by part; all parts are taken."""

    def read(source: Path, _: Sequence[str]) -> Read:
        path = one_file(source, listed)
        parts = parse_json(read_text(path), path)
        if not isinstance(parts, dict) or not all(isinstance(names, list) for names in parts.values()):
            raise BadInput("is not a JSON object of lists of files", where=path)

        def rows() -> Iterator[Record]:
            for name in (str(name) for names in parts.values() for name in names):
                file = path.parent / folder / Path(name).name
                record = parse_json(read_text(file), file)
                spoken = [str(field(record, key, str, str(file))).strip() for key in captions]
                yield name, {"image": _value(record, image), "caption": "\n".join(spoken)}

        yield "", record_rows(rows(), _PLAIN, str(path))

    return Layout(f"{listed}, and a folder {folder} of JSON objects with {image}, {' and '.join(captions)}", read)


def names_and_lines(names: str, files: Sequence[str]) -> Layout:
    """A file of image names, and for each language a file with one caption a line, in the same order."""

    def read(source: Path, languages: Sequence[str]) -> Read:
        path = require(source, names)
        images = [name for line in text_lines(read_text(path)) if (name := line.strip())]
        for language, lines in _of_languages(source, languages, files):
            captions = text_lines(read_text(lines))
            if len(captions) != len(images):
                what = f"{count_of(len(captions), 'line')} for the {len(images):,} names of {path.name}"
                raise BadInput(what, where=lines)
            pairs = zip(images, captions, strict=True)
            records: Iterable[Record] = ((f"line {i}", {"image": a, "caption": b}) for i, (a, b) in enumerate(pairs, 1))
            yield language, record_rows(records, _PLAIN, str(lines))

    return Layout("names of images, and captions in the same order, one per line, a file for each language", read)


def pool(annotations: str, names: str) -> Layout:
    """Captions by the name of their image, and the names of a larger gallery: other images belong to no caption."""

    def read(source: Path, _: Sequence[str]) -> Read:
        path = one_file(source, annotations)
        gallery = _names(require(source, f"{names}.txt", f"{names}.npy"))
        captions = parse_json(read_text(path), path)
        if not isinstance(captions, dict) or not all(isinstance(found, list) for found in captions.values()):
            raise BadInput("is not a JSON object of lists of captions", where=path)
        stems = [Path(name).stem for name in gallery]
        if absent := captions.keys() - set(stems):
            what = f"{count_of(len(absent), 'image is', 'images are')} not in {names} (first: {min(absent)})"
            raise BadInput(what, where=path)
        found = ((name, captions.get(stem, [])) for name, stem in zip(gallery, stems, strict=True))
        records: Iterable[Record] = (
            (f"image {name}", {"image": name, "caption": of_image}) for name, of_image in found
        )
        yield "", record_rows(records, _PLAIN, str(path))

    return Layout("a JSON object, image name -> captions, and the file names of the larger gallery of images", read)


def texts_in_folder(folder: str, ending: str) -> Layout:
    """One text file per image, with the name of the image; its first line is the caption."""

    def read(source: Path, _: Sequence[str]) -> Read:
        inside = [source / folder, *sorted(source.glob(f"*/{folder}"))] if is_folder(source) else [source.parent]
        paths = next((found for path in inside if (found := list(path.glob("*.txt")))), list(source.glob("*.txt")))
        if not paths:
            raise BadInput(f"holds no {folder}/1.txt", where=source)
        paths.sort(key=lambda path: [int(x) if x.isdecimal() else x for x in re.split(r"(\d+)", path.stem)][1:])
        records: Iterable[Record] = (
            (path.name, {"image": path.stem + ending, "caption": text_lines(read_text(path))[0].strip()})
            for path in paths
        )
        yield "", record_rows(records, _PLAIN, str(paths[0].parent))

    return Layout(f"a folder {folder} with a text for each image, 1.txt for 1{ending}", read)


def described_clips(descriptions: str, part: str) -> Layout:
    """Lines of an id and a caption, and a file with the ids of the test set."""

    def read(source: Path, _: Sequence[str]) -> Read:
        path, listed = one_file(source, descriptions), require(source, part)
        wanted = dict.fromkeys(line.strip() for line in text_lines(read_text(listed)) if line.strip())
        found: dict[str, list[str]] = {name: [] for name in wanted}
        for line in text_lines(read_text(path)):
            name, _, caption = line.partition(" ")
            if name in found and caption.strip():
                found[name].append(caption.strip())
        without = [name for name, captions in found.items() if not captions]
        if without:
            what = (
                f"{count_of(len(without), 'item')} of {listed.name} without a line (first: {format_field(without[0])})"
            )
            raise BadInput(what, where=path)
        records: Iterable[Record] = (
            (f"item {name}", {"image": name, "caption": captions}) for name, captions in found.items()
        )
        yield "", record_rows(records, _PLAIN, str(path))

    return Layout("lines of an id and a caption, and the ids of the test set, one per line", read)


def _of_languages(source: Path, languages: Sequence[str], files: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """The file of every language in a folder; a single file is for the requested language.

    If the names of files have no language, one file has all languages.
    """
    if "{}" not in files[0]:
        path = one_file(source, *files)
        yield from ((language, path) for language in languages)
        return
    if not is_folder(source):
        if len(languages) > 1:
            fix = "give their folder, or build one language, as in xtd10:de"
            raise UsageError("is one file, but every language has its own", where=source, fix=fix)
        for file in files:
            pattern = "(^|/)" + re.escape(file).replace(r"\{\}", "([a-z]{2,3})") + "$"
            named = re.search(pattern, source.as_posix().removesuffix(".gz"))
            if named and named[2] != languages[0]:
                what = f"is the file of '{named[2]}' by its name, but '{languages[0]}' is built"
                raise UsageError(what, where=source, fix="give the file of this language, or the folder")
        yield languages[0], source
        return
    found = {name: find(source, *(file.format(name) for file in files)) for name in languages}
    if not any(found.values()):
        raise BadInput(f"holds no {' or '.join(file.format(languages[0]) for file in files)}", where=source)
    yield from ((name, path) for name, path in found.items() if path is not None)


def _names(path: Path) -> list[str]:
    """The names in a text, one a line, or in an array of strings (.npy)."""
    if path.suffix != ".npy":
        return [name for line in text_lines(read_text(path)) if (name := line.strip())]
    names = ids_of(npy_member(path), path)
    return [] if names is None else [str(name) for name in names.tolist()]
