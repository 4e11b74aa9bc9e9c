"""The layouts in which test sets are published: from a file or folder to caption rows; several sets share a reader."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import BadInput, UsageError, count_of
from ..files.caption_records import CAPTION, Fields, Record, record_rows
from ..files.caption_rows import CaptionRows
from ..files.jsonl import is_jsonl, jsonl_records
from ..files.members import ids_of
from ..files.npy import npy_member
from ..files.regular import is_folder
from ..files.tables import table_header, table_records
from ..files.textfile import field, parse_json, read_text, shown, text_lines

DEPTH = 3  # folders inside a folder in which files are looked for
Read = Iterator[tuple[str, CaptionRows]]  # language, or an empty text, and its rows
_PLAIN = Fields(("caption",), "image", None, None, None)


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
    """The file with one of these names, plain or as ``.gz``, in a folder or beside a file; None when there is none.

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
    """As ``find``; raises BadInput where there is no such file."""
    found = find(source, *patterns)
    if found is None:
        raise BadInput(f"holds no {' or '.join(patterns)}", where=source if is_folder(source) else source.parent)
    return found


def one_file(source: Path, *patterns: str) -> Path:
    """The file itself, whatever its name, or the one with such a name in a folder."""
    return require(source, *patterns) if is_folder(source) else source


def table(
    names: tuple[str, ...], image: str, captions: tuple[str, ...], number: str | None = None, each: bool = False
) -> Layout:
    """A table with a header: one row a caption, or one an item with all its captions.

    Args:
        names: of the file.
        image: the column with the id of the item.
        captions: the columns of captions; the first that the table has, unless ``each`` of them is a caption.
        number: the column with the id of the caption.
        each: every column holds a caption.
    """

    def read(source: Path, _: Sequence[str]) -> Read:
        path = one_file(source, *names)
        text = read_text(path)
        if text.lstrip()[:1] in "{[":
            raise BadInput("is JSON and no table", where=path)
        there = [name for name in captions if name in table_header(text)]
        needed = len(captions) if each else 1
        if len(there) < needed or image not in table_header(text):
            listed = ", ".join(table_header(text)[:8])
            raise BadInput(f"line 1 has the columns {listed}", where=path)

        def records() -> Iterator[Record]:
            for at, row in table_records(text, str(path)):
                spoken: Any = [row[name] for name in there] if each else row[there[0]]
                yield at, {"image": row[image], "caption": spoken, "id": row.get(number or "")}

        yield "", record_rows(records(), replace(_PLAIN, caption_id="id" if number else None), str(path))

    columns = [image, *captions] if each else [*filter(None, (number,)), image, captions[0]]
    return Layout(f"a table with the columns {', '.join(columns)}", read)


def lines_a_language(files: Sequence[str], image: str) -> Layout:
    """JSON lines, one file a language; ``{}`` in the names of files is the language."""

    def read(source: Path, languages: Sequence[str]) -> Read:
        for language, path in _of_languages(source, languages, files):
            text = read_text(path)
            first = next(jsonl_records(text, str(path)))[1] if is_jsonl(text) else {}
            caption = next((name for name in CAPTION if name in first), None)
            if caption is None or image not in first:
                listed = ", ".join(list(first)[:8])
                raise BadInput(f"line 1 has the fields {listed}" if first else "are no JSON lines", where=path)
            fields = replace(_PLAIN, captions=(caption,), image=image)
            yield language, record_rows(jsonl_records(text, str(path)), fields, str(path))

    return Layout(f"JSON lines with sentences and {image}, a file for each language", read)


def languages_in_line(names: tuple[str, ...], image: str) -> Layout:
    """JSON lines of one item with its captions in all languages."""

    def read(source: Path, languages: Sequence[str]) -> Read:
        path = one_file(source, *names)
        records = list(jsonl_records(read_text(path), str(path)))

        def spoken(language: str) -> Iterator[Record]:
            for at, record in records:
                of = field(record, language, dict, f"{path}: {at}")
                yield at, {"image": record.get(image), "caption": field(of, "caption", list, f"{path}: {at}")}

        for language in languages:
            yield language, record_rows(spoken(language), _PLAIN, str(path))

    return Layout(f'JSON lines with {image} and a field for each language, {{"caption": [...]}}', read)


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

    return Layout("names of images, and captions in the same order, one a line, a file for each language", read)


def pool(annotations: str, names: str) -> Layout:
    """Captions by the name of their image, and the names of a larger gallery: other images belong to no caption."""

    def read(source: Path, _: Sequence[str]) -> Read:
        path = one_file(source, annotations)
        gallery = _names(require(source, f"{names}.txt", f"{names}.npy"))
        captions = parse_json(read_text(path), path)
        if not isinstance(captions, dict) or not all(isinstance(found, list) for found in captions.values()):
            raise BadInput("is no JSON object of lists of captions", where=path)
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
    """One text file an image, its first line the caption; the name of the file is that of the image."""

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
            what = f"{count_of(len(without), 'item')} of {listed.name} without a line (first: {shown(without[0])})"
            raise BadInput(what, where=path)
        records: Iterable[Record] = (
            (f"item {name}", {"image": name, "caption": captions}) for name, captions in found.items()
        )
        yield "", record_rows(records, _PLAIN, str(path))

    return Layout("lines of an id and a caption, and the ids of the test set, one a line", read)


def _of_languages(source: Path, languages: Sequence[str], files: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """The file of every language that a folder has; a file is that of the one language that is asked for."""
    if not is_folder(source):
        if len(languages) > 1:
            fix = "give their folder, or build one language, as in xtd10:de"
            raise UsageError("is one file, and every language has its own", where=source, fix=fix)
        for file in files:
            pattern = "(^|/)" + re.escape(file).replace(r"\{\}", "([a-z]{2,3})") + "$"
            named = re.search(pattern, source.as_posix().removesuffix(".gz"))
            if named and named[2] != languages[0]:
                what = f"is the file of '{named[2]}' by its name, and '{languages[0]}' is built"
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
