"""The layouts in which sets of choices are published, one reader each, and the layout of a custom set."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import BadInput, MissingPackage, count_of, unknown
from ...files.regular import cache_dir, expanded, is_folder
from ...files.textfile import field, format_field, parse_document, read_text
from .items import ChoiceSet, Item

Record = tuple[str, str, Mapping[str, Any], str]  # its file without ending, its key or number, its fields, its place
MIN_ITEMS = 25  # items of a pair of attributes that the mean of ARO's VG-Attribution has
MIN_VOTES = 2  # of three annotators, for the caption against the foil


@dataclass(frozen=True)
class Layout:
    """One layout of files.

    Attributes:
        name: of the set; ``own`` for custom sets.
        fields: a record of this layout has them all.
        item: a record as an item, None for one that the published protocol leaves out.
        source: where the files come from.
        left_out: what ``item`` leaves out, for a note.
        files: of the complete set, without their ending.
    """

    name: str
    fields: tuple[str, ...]
    item: Callable[[str, str, Mapping[str, Any], str], Item | None]
    source: str = ""
    left_out: str = ""
    files: tuple[str, ...] = ()


def _sugarcrepe(file: str, key: str, record: Mapping[str, Any], spot: str) -> Item:
    image, *captions = _texts(record, spot, "filename", "caption", "negative_caption")
    return Item(f"{file}:{key}", (image,), tuple(captions), 0, file, image)


def _valse(file: str, key: str, record: Mapping[str, Any], spot: str) -> Item | None:
    image, *captions = _texts(record, spot, "image_file", "caption", "foil")
    votes = field(field(record, "mturk", dict, spot), "caption", int, f"{spot}: mturk")
    return Item(f"{file}:{key}", (image,), tuple(captions), 0, file, image) if votes >= MIN_VOTES else None


def _aro(file: str, key: str, record: Mapping[str, Any], spot: str) -> Item:
    # The wrong caption is first, as in the scores of the authors. The image is a box of a photo, so it has its own id.
    photo, *captions = _texts(record, spot, "image_path", "false_caption", "true_caption")
    pair = field(record, "attributes", list, spot) if "attributes" in record else _texts(record, spot, "relation_name")
    name = f"{file}-{key}"
    return Item(name, (name,), tuple(captions), 1, "_".join(map(str, pair[:2])), photo, file)


def _winoground(file: str, key: str, record: Mapping[str, Any], spot: str) -> Item:
    name = str(field(record, "id", (int, str), spot))
    first, second, *captions = _texts(record, spot, "image_0", "image_1", "caption_0", "caption_1")
    return Item(name, (first, second), tuple(captions), 0, str(record.get("collapsed_tag", "all")), name)


def _custom_item(file: str, key: str, record: Mapping[str, Any], spot: str) -> Item:
    given = field(record, "image", (str, int, list), spot)
    images, captions = given if isinstance(given, list) else [given], field(record, "captions", list, spot)
    for of, values, kind in (("image", images, (str, int)), ("captions", captions, str)):
        if not all(isinstance(value, kind) for value in values):
            raise BadInput(f"field '{of}' is {format_field(values)}", where=spot, fix="write a list of texts")
    right = field(record, "right", int, spot) if "right" in record else 0
    if len(captions) < 2 or len(images) not in (1, 2) or (len(images) == 2 and (len(captions), right) != (2, 0)):
        what = f"{count_of(len(images), 'image')} and {count_of(len(captions), 'caption')}"
        fix = "give one image and two or more captions, or two images and the caption of each"
        raise BadInput(what, where=spot, fix=fix)
    if not 0 <= right < len(captions):
        what = f"field 'right' is {right}, but there are {len(captions)} captions"
        raise BadInput(what, where=spot, fix="give the number of the right caption, from 0")
    others = {"id": key, "category": "all", "group": images[0], **record}
    name, category, group = (str(field(others, x, (str, int), spot)) for x in ("id", "category", "group"))
    return Item(name, tuple(map(str, images)), tuple(captions), right, category, group)


LAYOUTS: dict[str, Layout] = {
    layout.name: layout
    for layout in (
        Layout(
            "sugarcrepe", ("filename", "caption", "negative_caption"), _sugarcrepe,
            "the folder data of RAIVNLab/sugar-crepe on GitHub",
            files=("add_att", "add_obj", "replace_att", "replace_obj", "replace_rel", "swap_att", "swap_obj"),
        ),
        Layout(
            "valse", ("image_file", "caption", "foil"), _valse, "the folder data of Heidelberg-NLP/VALSE on GitHub",
            "fewer than two of three annotators chose only this caption",
            ("existence", "plurals", "counting-hard", "counting-small-quant", "counting-adversarial", "relations",
            "action-replacement", "actant-swap", "coreference-standard", "coreference-hard", "foil-it"),
        ),
        Layout(
            "aro", ("true_caption", "false_caption", "image_path"), _aro,
            "visual_genome_relation.json and visual_genome_attribution.json of ARO",
            files=("visual_genome_relation", "visual_genome_attribution"),
        ),
        Layout(
            "winoground", ("image_0", "image_1", "caption_0", "caption_1"), _winoground,
            "examples.jsonl of facebook/winoground on Hugging Face",
        ),
        Layout("own", ("image", "captions"), _custom_item),
    )
}  # fmt: skip


def is_known(named: str) -> bool:
    """Whether a word is the name of a published set, or a file or folder that exists."""
    return named in LAYOUTS or expanded(named).exists()


def load(named: str | os.PathLike[str]) -> ChoiceSet:
    """A set by its file, its folder, or its name, which is a folder in ``choices`` of the cache.

    Raises:
        UsageError: neither a file nor a name.
        MissingPackage: the files of a published set are not in the cache.
        BadInput: a file is damaged or has no known layout.
    """
    path = expanded(named)
    if not path.exists() and path.name == str(named) and not path.suffix:
        path = _in_cache(path.name)
    files = sorted(p for p in path.iterdir() if _parts(p)[1] in (".json", ".jsonl")) if is_folder(path) else [path]
    read = {file: list(_records(file)) for file in files}
    layouts = {file: _layout(records) for file, records in read.items()}
    chosen = next((layout for layout in layouts.values() if layout is not None), None)
    if chosen is None:
        first = next((", ".join(map(str, record[2])) for records in read.values() for record in records), "none")
        what = f"has no choices of a known layout (fields of the first item: {first[:200]})"
        raise BadInput(what, where=path, fix="give every item the fields image, captions and right")
    notes = [f"{file.name} is left out: it has another layout" for file in files if layouts[file] is not chosen]
    records = [record for file in files if layouts[file] is chosen for record in read[file]]
    if absent := sorted({*chosen.files} - {stem for stem, *_ in records}):
        scope = f"of the {len(chosen.files)} files of {chosen.name}"
        counted = count_of(len(absent), f"{scope} is", f"{scope} are")
        notes.append(f"{counted} not here ({', '.join(absent)}): results cover the others, not the complete set")
    return _of_records(chosen.name if chosen.source else _parts(path)[0], chosen, records, tuple(notes))


def of_list(items: Sequence[Mapping[str, Any]]) -> ChoiceSet:
    """A custom set from records in memory; raises BadInput."""
    return _of_records("own", LAYOUTS["own"], [("own", str(n), item, f"item {n}") for n, item in enumerate(items)])


def _of_records(name: str, layout: Layout, records: Sequence[Record], notes: tuple[str, ...] = ()) -> ChoiceSet:
    every = [layout.item(*record) for record in records]
    items = tuple(item for item in every if item is not None)
    gone = len(every) - len(items)
    if gone:
        notes = (*notes, f"{count_of(gone, 'item is', 'items are')} left out: {layout.left_out}")
    counts = Counter((item.part, item.category) for item in items)
    outside = (
        (part, category)
        for (part, category), n in counts.items()
        if category in SYMMETRIC or (part.endswith("attribution") and n < MIN_ITEMS)
    )
    return ChoiceSet(name, items, frozenset(outside if layout.name == "aro" else ()), notes)


def _in_cache(name: str) -> Path:
    known, path = {one["name"]: one for one in status()}, cache_dir() / "choices" / name
    if name not in known:
        raise unknown("set", name, known).also("or give a file or folder that exists")
    if known[name]["needs"]:
        needs = f"{known[name]['needs']}, or copy the folder to {path}; it is {known[name]['source']}"
        raise MissingPackage(f"the files of set '{name}' are not here", fix=needs)
    return path


def status() -> list[dict[str, str]]:
    """``name``, ``source``, ``available`` (``cached`` or ``absent``) and ``needs`` of every published set."""
    found = []
    for layout in LAYOUTS.values():
        if layout.source:
            there = (cache_dir() / "choices" / layout.name).is_dir()
            state = ("cached", "") if there else ("absent", "vsebench choice FILE --set FOLDER")
            found.append({"name": layout.name, "source": layout.source, "available": state[0], "needs": state[1]})
    return found


def _records(path: Path) -> Iterable[Record]:
    document, stem = parse_document(read_text(path), path)[0], _parts(path)[0]
    if not isinstance(document, (dict, list)) or (isinstance(document, dict) and _layout([("", "", document, "")])):
        document = [document]
    for key, record in document.items() if isinstance(document, dict) else enumerate(document):
        if not isinstance(record, dict):
            fix = "give an object of items, a list of items, or one item per line"
            raise BadInput(f"item {key} is {format_field(record)}, expected an object", where=path, fix=fix)
        yield stem, str(key), record, f"{path}: item {key}"


def _layout(records: Sequence[Record]) -> Layout | None:
    found = (layout for layout in LAYOUTS.values() if records and set(layout.fields) <= records[0][2].keys())
    return next(found, None)


def _parts(path: Path) -> tuple[str, str]:
    """The name of a file without its endings, and the ending beside ``.gz``."""
    plain = Path(path.name.removesuffix(".gz"))
    return plain.stem, plain.suffix


def _texts(record: Mapping[str, Any], spot: str, *names: str) -> list[str]:
    return [field(record, name, str, spot) for name in names]


_NAMES = """
adjusting, attached to, between, bigger than, biting, boarding, brushing, chewing, cleaning, climbing, close to,
coming from, coming out of, contain, crossing, dragging, draped over, drinking, drinking from, driving, driving down,
driving on, eating from, eating in, enclosing, exiting, facing, filled with, floating in, floating on, flying, flying
above, flying in, flying over, flying through, full of, going down, going into, going through, grazing in, growing in,
growing on, guiding, hanging from, hanging in, hanging off, hanging over, higher than, holding onto, hugging, in
between, jumping off, jumping on, jumping over, kept in, larger than, leading, leaning over, leaving, licking, longer
than, looking in, looking into, looking out, looking over, looking through, lying next to, lying on top of, making,
mixed with, mounted on, moving, on the back of, on the edge of, on the front of, on the other side of, opening,
painted on, parked at, parked beside, parked by, parked in, parked in front of, parked near, parked next to, perched
on, petting, piled on, playing, playing in, playing on, playing with, pouring, reaching for, reading, reflected on,
riding on, running in, running on, running through, seen through, sitting behind, sitting beside, sitting by, sitting
in front of, sitting near, sitting next to, sitting under, skiing down, skiing on, sleeping in, sleeping on, smiling
at, sniffing, splashing, sprinkled on, stacked on, standing against, standing around, standing behind, standing
beside, standing in front of, standing near, standing next to, staring at, stuck in, surrounding, swimming in,
swinging, talking to, topped with, touching, traveling down, traveling on, tying, typing on, underneath, wading in,
waiting for, walking across, walking by, walking down, walking next to, walking through, working in, working on, worn
on, wrapped around, wrapped in, by, of, near, next to, with, beside, on the side of, around
"""
SYMMETRIC = frozenset(name.strip() for name in _NAMES.replace("\n", " ").split(","))
