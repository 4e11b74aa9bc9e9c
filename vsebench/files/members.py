"""Named arrays of any format that has them: one reader for vectors, scores, gains and labels, with the ids of rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import prod
from pathlib import Path

import numpy as np

from ..errors import BadInput, UsageError, closest
from ..log import note
from ..memory import require
from ..options import spell
from ..types import Ids
from .formats import Format, array_suffixes, expect, sniff
from .ids import AS_STRINGS, as_ids, as_strings
from .raw import FLOATS, Array, Holds, Member, Raw
from .regular import SAVE_NPY, unpickle

_TEXT_LIKE = ("str", "bytes", "object")


@dataclass(frozen=True)
class Field:
    """One array to be found in a file.

    Attributes:
        words: its contents, for messages.
        names: its usual names, lower case.
        flag: the option that names it explicitly, or the empty string.
    """

    words: str
    names: tuple[str, ...]
    flag: str = ""


_FORMS = ("embedding", "embed", "emb", "feature", "feat", "vector", "vec")


def _vectors_of(*sides: str, plain: tuple[str, ...]) -> tuple[str, ...]:
    """The usual names of vectors: ``image_embeddings``, ``image_emb``, ... of every side, and ``plain`` ones."""
    return (*(f"{side}_{form}{end}" for side in sides for form in _FORMS for end in ("s", "")), *plain)


IMAGES = Field(
    "image vectors",
    _vectors_of(
        "image", "img", "video", "clip", "audio", plain=("images", "img", "video", "videos", "audio", "audios")
    ),
    "image_key",
)
TEXTS = Field(
    "text vectors",
    _vectors_of(
        "text", "txt", "caption", "cap", "sentence", "query", plain=("captions", "texts", "txt", "cap", "caps")
    ),
    "text_key",
)
_CORPUS = ("corpus", "document", "doc", "passage", "item", "candidate", "gallery")
QUERY_VECTORS = Field("query vectors", _vectors_of("query", "queries", plain=("query", "queries")), "image_key")
CORPUS_VECTORS = Field(
    "corpus vectors",
    _vectors_of(*_CORPUS, *(f"{x}s" for x in _CORPUS[1:-1]), plain=(*_CORPUS, *(f"{x}s" for x in _CORPUS[1:-1]))),
    "text_key",
)
# Names that vectors of the other side do not have; "clip" may be the model, and a query an image.
_OF_ONE_SIDE = {name for name in (*IMAGES.names, *TEXTS.names) if not name.startswith(("clip", "query"))}
IMAGE_IDS = Field("image ids", ("image_ids", "img_ids", "images_ids", "video_ids", "vid_ids", "clip_ids", "audio_ids"))
QUERY_IDS = Field("query ids", ("query_ids", "queries_ids", "query_id", "qids", "qid"))
CORPUS_IDS = Field(
    "corpus ids",
    (*(f"{x}{end}" for x in _CORPUS for end in ("_ids", "s_ids", "_id")), "docids", "docid", "dids", "pids"),
)
NAMES = ("image_names", "video_names", "video_name", "file_names", "filenames")  # of images, in place of ids
TEXT_IDS = Field(
    "text ids", ("text_ids", "caption_ids", "cap_ids", "captions_ids", "sentence_ids", "sen_ids", "sent_ids")
)
OWNER_ROWS = ("image_index", "image_row_of_text")  # names that say: rows, counted from 0
OWNER_IDS = ("image_id_of_text", "caption_image_ids", "text_image_ids")  # and: ids
OWNER_COUNTS = ("captions_per_image", "captions_per_video")  # and: how many texts an image has
OWNER_ENDS = ("cut_off_points",)  # and: the row of the last text of every image, or the one behind (CLIP4Clip)
IMAGE_OF_TEXT = Field(
    "the image of every text",
    (
        "image_of_text",
        "image_of_caption",
        "image_of",
        "text_to_image",
        "txt2img",
        *OWNER_ROWS,
        *OWNER_IDS,
        *OWNER_COUNTS,
        *OWNER_ENDS,
    ),
)
CAPTIONS = Field(
    "captions", ("captions", "caption", "texts", "text", "sentences", "caption_strings", "raw_captions")
)  # strings
SCORES = Field("scores", ("scores", "sims", "sim", "similarity", "similarities", "matrix"), "scores_key")


Ids3 = tuple[Sequence[Field], Sequence[Field], Sequence[Field]]
BOTH_SIDES: Ids3 = ((IMAGE_IDS,), (TEXT_IDS,), (IMAGE_OF_TEXT,))  # ids of images and texts, and the image of every text
IMAGE_TEXT_SIDES = ((IMAGES, IMAGE_IDS, "images"), (TEXTS, TEXT_IDS, "texts"))  # their vectors, ids, and what they are
QUERY_CORPUS_SIDES = ((QUERY_VECTORS, QUERY_IDS, "queries"), (CORPUS_VECTORS, CORPUS_IDS, "corpus items"))
# Names of arrays that are no vectors.
_NAMED = (IMAGE_IDS, TEXT_IDS, IMAGE_OF_TEXT, QUERY_IDS, CORPUS_IDS)
IDS = (*(name for field in _NAMED for name in field.names), "ids", "id", "keys")
_BESIDE = (*IDS, *CAPTIONS.names)
_VECTORS = tuple(name for field in (IMAGES, TEXTS, QUERY_VECTORS, CORPUS_VECTORS) for name in field.names)
_PART = re.compile(r"(.+?)[/_](?:batch_)?[0-9]{1,9}")  # of an array, and its number
MIN_PARTS = 4  # with at least so many vectors, the names of arrays are their ids


_SUFFIX = re.compile(rf"_?(?:{'|'.join(_FORMS)})s?$")


def ids_beside(member: Member, field: Field) -> tuple[Field, Field]:
    """The ids that are called after an array, ``X_ids`` of ``X`` or ``X_embeddings``, and the usual ones of a side."""
    stem = _SUFFIX.sub("", member.base)
    return Field(field.words, tuple(dict.fromkeys((f"{member.base}_ids", f"{stem}_ids", f"{stem}_id")))), field


def names_beside(member: Member, members: Sequence[Member], field: Field) -> list[Field]:
    """Names used as ids if a side has no ids: different strings, as many as the rows of an array."""
    stem = _SUFFIX.sub("", member.base)
    usual = (f"{member.base}_names", f"{stem}_names", *(NAMES if field is IMAGE_IDS else ()), "names")
    found = (m for name in usual for m in members if m.base == name)
    fits = (m for m in found if (m.size,) == member.shape[:1] and m.dtype in ("str", "bytes") and m.nbytes < 1 << 28)
    return [Field(field.words, (m.base,)) for m in fits if len(np.unique(m.load())) == m.size]


@dataclass(frozen=True, eq=False)
class ArrayFile:
    """A file or folder with its format, which is detected once."""

    path: Path
    kind: Format

    @cached_property
    def members(self) -> list[Member]:
        """Its arrays, described from its header; vectors under an id each, and batches, as the arrays that they are.

        Raises:
            BadInput: the file is damaged, or of a format without arrays.
            MissingPackage: the package that reads the format is not installed.
        """
        self.kind.require(self.path)
        if self.kind.arrays is None:
            raise BadInput(f"is {self.kind.words}, which holds no arrays", where=self.path, fix="give a file of arrays")
        return gathered(self.kind.arrays(self.path))

    def refuse_key(self, key: str | None, field: Field) -> None:
        """Refuse the name of an array for a file that holds one without a name; raises UsageError."""
        if self.kind.single and key is not None:
            what = (
                f"an {self.kind.suffix} file holds a single array without a name, so {spell(field.flag)} does not apply"
            )
            raise UsageError(what, where=self.path, fix="leave it out")

    def only(self, matrices: Sequence[Member], field: Field, fix: str | None = None) -> Member:
        """The only one of some arrays; raises BadInput if there is none, or several."""
        if len(matrices) == 1:
            return matrices[0]
        named = f" with {spell(field.flag, 'KEY')}" if field.flag else f" {field.names[0]}"
        fix = fix or f"give the name of the array{named}"
        what = f"has no {field.words} under a known name; it holds {describe(self.members)}"
        raise BadInput(what, where=self.path, fix=fix)


def gathered(members: list[Member]) -> list[Member]:
    """The arrays of a file; numbered parts of one array are joined.

    Arrays that have a usual name and a number behind it (``image_embeddings/0`` or ``image_embeddings_0``) are batches.
    The entries of a list (``/``) are items with several vectors each if they have not as many rows in all as there are
    ids, and every entry has several rows or their lengths differ.
    Vectors of one length, at least ``MIN_PARTS`` and no other arrays in a group (or file), have their ids as names:
    they are the array ``GROUP``, or ``vectors``, and their names are ``GROUP_ids``, or ``ids``.
    """
    groups: dict[str, list[Member]] = {}
    for member in members:
        batch, group = _PART.fullmatch(member.name), member.name.rpartition("/")[0]
        stem = batch[1].rsplit("/", 1)[-1].lower() if batch else ""
        if batch and member.shape and stem in (_BESIDE if len(member.shape) == 1 else _VECTORS):
            group = f"{batch[1]}#"
        groups.setdefault(group, []).append(member)
    for group, found in groups.items():
        if group.endswith("#"):
            found.sort(key=lambda m: int(m.name.replace("/", "_").rpartition("_")[2]))
    named = [sum(m.size for m in found) for found in groups.values() if all(len(m.shape) == 1 for m in found)]
    named += [m.size for m in members if m.base in _BESIDE]
    out: list[Member] = []
    for group, found in groups.items():
        names = [m.name.rpartition("/")[2] for m in found]
        shapes = {m.shape[1:] if group.endswith("#") else m.shape for m in found}
        if group.endswith("#") and len(found) > 1 and _of_items(found, named):
            shape = (len(found), max(m.shape[0] for m in found), found[0].shape[1])
            out.append(Member(group[:-1], shape, "list", 0, partial(np.empty, 0)))  # described, and never loaded
        elif group.endswith("#") and len(shapes) == 1 < len(found):
            out.append(_joined(group[:-1], found))
        elif len(shapes) == 1 and len(found) >= MIN_PARTS and all(m.dtype in FLOATS and _is_row(m) for m in found):
            out.append(_joined(group or "vectors", found, rows=True))
            if names != [str(n) for n in range(len(names))]:  # a list has no ids
                ids = np.array(names)
                out.append(Member(f"{group}_ids".lstrip("_"), ids.shape, "str", 0, partial(np.asarray, ids)))
        else:
            out += found
    return out


def _is_row(member: Member) -> bool:
    return member.size == max(member.shape, default=0) > 1


def _of_items(parts: Sequence[Member], named: Sequence[int]) -> bool:
    """Whether the arrays of a list are items with several vectors each; ``named``: how many ids are beside it."""
    if not all("/" in m.name and len(m.shape) == 2 for m in parts) or len({m.shape[1] for m in parts}) > 1:
        return False
    sizes = [m.shape[0] for m in parts]
    batches = len(set(sizes[:-1])) == 1 and sizes[-1] <= sizes[0]
    return sum(sizes) not in named and (min(sizes) > 1 or not batches)


def _joined(name: str, parts: Sequence[Member], rows: bool = False) -> Member:
    """Arrays as one, one behind the other; ``rows``: each is a row."""

    def load() -> Array:
        return np.concatenate([m.load().reshape(1, -1) if rows else m.load() for m in parts])

    first = parts[0]
    shape = (len(parts), first.size) if rows else (sum(m.shape[0] for m in parts), *first.shape[1:])
    note = f"'{name}' is {len(parts):,} {'arrays of one row' if rows else 'batches'}: '{first.name}', ..."
    size = prod(shape) * (8 if first.dtype == "float64" else 4) if first.dtype in FLOATS else 0  # of mapped ones too
    used = max(size, sum(m.nbytes for m in parts))
    sources = tuple(source for m in parts for source in m.sources)
    dtype = next((m.dtype for m in parts if m.dtype not in FLOATS), first.dtype)
    return Member(name, shape, dtype, used, load, note * (len(shape) > 1), sources)


def opened(path: Path) -> ArrayFile:
    """The file or folder at a path; raises BadInput as ``sniff``."""
    return ArrayFile(path, sniff(path))


def arrays(path: Path) -> Mapping[str, Member]:
    """The arrays of a file or folder by name, described from its header; raises as ``sniff`` and ``ArrayFile``."""
    return {member.name: member for member in opened(path).members}


def read_array(
    path: Path,
    field: Field,
    fix: str = "",
    *,
    key: str | None = None,
    matrix: bool = True,
    load: Callable[[Member, Path], Array] | None = None,
    ids: Ids3 = ((IMAGE_IDS,), (TEXT_IDS,), ()),
    captions: bool = False,
) -> Raw:
    """The array of a file that the user has named, that has a usual name, or that is the only one it can be.

    Args:
        path: a file of any format that holds arrays.
        field: what the array holds, and its usual names.
        fix: how to save such a file, for errors.
        key: the name that the user gave.
        matrix: the array has two dimensions; else any number, and without a usual name two or more.
        load: reads the array; by default ``floats``.
        ids: the usual names of its ids, see ``BOTH_SIDES``.
        captions: as for ``stored``.

    Raises:
        BadInput: another kind of file, damaged, of another type or shape, or several arrays that it may be.
        UsageError: ``key`` for a file of one array without a name.
        MissingPackage: the package that reads this format is not installed.
    """
    file = opened(path)
    expect(path, file.kind, file.kind.arrays is not None, f"a file of {field.words}", fix or f"give {array_suffixes()}")
    file.refuse_key(key, field)
    chosen = file.members[0] if file.kind.single else pick(file.members, field, path, key)
    if chosen is None:
        several = [m for m in file.members if len(m.shape) > 1 and m.base not in IDS]
        several = [m for m in several if len(m.shape) == 2 or not matrix]
        if matrix and any(m.base in _OF_ONE_SIDE.difference(field.names) for m in several):
            name = spell("scores_key", "KEY")
            leave = (
                f"leave out {spell('scores')} if the file holds embeddings, or pass the name of the scores with {name}"
            )
            file.only([], field, leave if field is SCORES else fix or None)
        chosen = file.only(several, field)
        note(f"{field.words} are read from '{chosen.name}'" + ", the only two-dimensional array" * matrix)
    if matrix and len(chosen.shape) != 2:
        what = f"array '{chosen.name}' has shape {chosen.shape}; {field.words} are two-dimensional"
        raise BadInput(what, where=path, fix=fix or "save one vector per row")
    return stored(file, [chosen], ids, load, captions)


def stored(
    file: ArrayFile,
    arrays: Sequence[Member],
    ids: Ids3 = BOTH_SIDES,
    load: Callable[[Member, Path], Array] | None = None,
    captions: bool = False,
) -> Raw:
    """The first of some arrays of a file, and what the file says about its rows.

    Args:
        file: one of arrays.
        arrays: those that will be loaded; the size of all is checked.
        ids: the usual names of the ids; of several fields the first that the file has is taken.
        load: reads the array; by default ``floats``.
        captions: also the captions, if there are any, and notes, of the reader and on arrays that are not used.

    Raises:
        BadInput: they do not fit into memory, or cannot be read.
    """
    path, members = file.path, [] if file.kind.single else file.members
    found = [
        next((m for field in fields if (m := pick(members, field, path, beside=arrays[0]))), None) for fields in ids
    ]
    strings = pick_strings(members, CAPTIONS) if captions else None
    used = [*arrays, *(m for m in (*found, strings) if m is not None)]
    require(sum(m.nbytes for m in used), path, SAVE_NPY)
    rest = [m for m in members if not any(m is u for u in used)]
    if captions:
        note(*(m.note for m in used), f"ignored arrays: {describe(rest)}" if rest else "")
    sources = tuple(dict.fromkeys(source for m in used for source in m.sources or (path,)))
    owners = "" if found[2] is None else found[2].base
    named: dict[Holds, tuple[str, ...]] = {
        "rows": OWNER_ROWS, "ids": (*OWNER_IDS, *IMAGE_IDS.names), "counts": OWNER_COUNTS,
        "ends": OWNER_ENDS,
    }  # fmt: skip
    holds: Holds = next((what for what, names in named.items() if owners in names), "rows or ids")
    image_ids, text_ids, image_of_text = (ids_of(m, path) for m in found)
    grid = (
        strings is not None
        and len(strings.shape) == 2
        and min(strings.shape) > 1
        and any(strings.size in m.shape for m in arrays)
    )
    if derived := grid and image_of_text is None and strings is not None:
        image_of_text, holds = np.repeat(np.arange(strings.shape[0]), strings.shape[1]), "rows"
        note(f"'{strings.name}' is (image, caption): the texts of an image follow each other", weight="detail")
    return Raw(
        ((load or floats)(arrays[0], path),), image_ids, text_ids, image_of_text, file.kind.name, sources, holds,
        None if strings is None else as_strings(strings.load(), strings.name, path), derived=derived,
    )  # fmt: skip


def floats(member: Member, where: Path) -> Array:
    """The data of a member that must be floating point, in native byte order.

    Raises:
        BadInput: any other dtype; integers are often quantised or the wrong array, so they are not converted.
    """
    if member.dtype not in FLOATS:
        raise no_floats(member, where)
    array = member.load()
    return np.require(array, array.dtype.newbyteorder("="), "A")


def no_floats(member: Member, where: Path) -> BadInput:
    """The error for an array that is not floating point, and how to save it."""
    name, fix = member.base, "save it as float32"
    if member.dtype.endswith("int64"):
        fix = "save it as float64, or as float32, which rounds integers from 2^24 on"
    elif member.dtype == "list":
        fix = "save one vector per item (of captions torch.cat(list), and image_of_text), or join batches (torch.cat); "
        fix += f"vectors of regions, frames or tokens are the input of a model: give its scores with {spell('scores')}"
        what = f"'{member.name}' is a list of {member.shape[0]:,} arrays of several vectors, not one vector per item"
        return BadInput(what, where=where, fix=fix)
    elif member.dtype.startswith("complex"):
        fix = "save real numbers"
    elif member.dtype == "object" and member.shape == ():
        fix = unpickle(f"np.load({str(where)!r}, allow_pickle=True)[{member.name!r}].item()")
    elif member.dtype == "object" and where.suffix == ".mat":
        fix = f"save it as a matrix, one row per item: in MATLAB, {name} = cell2mat({name})"
    elif member.dtype == "object":
        fix = f"save it as {name} = np.stack({name}).astype('float32'): objects are pickles, which are never read"
    elif member.dtype == "structured" and where.suffix == ".mat":
        fix = f"save its fields as variables: in MATLAB, save('NEW.mat', '-struct', '{name}')"
    what = f"array '{member.name}' {member.shape} is {member.dtype}, expected float16, float32 or float64"
    return BadInput(what, where=where, fix=fix)


def ids_of(member: Member | None, path: Path) -> Ids | None:
    """The ids in an array, (item,) int64 or unicode, None without one; raises BadInput for anything but ids."""
    if member is None:
        return None
    if not member.dtype.startswith(("int", "uint", "float", "str", "bytes")):
        raise BadInput(
            f"array '{member.name}' {member.shape} is {member.dtype}; ids are integers or strings",
            where=path,
            fix="save ids as a cellstr" if path.suffix == ".mat" else AS_STRINGS.format(name=member.base),
        )
    return as_ids(member.load(), member.name, path)


def pick(
    members: Sequence[Member], field: Field, where: Path, key: str | None = None, beside: Member | None = None
) -> Member | None:
    """The member that holds ``field``, or None.

    Args:
        members: all arrays of the file.
        field: names are compared without case, nested ones by their last part.
        where: the file, for messages.
        key: the name that the user gave; then it must exist.
        beside: if several match, the arrays in the same group (HDF5, nested dict) as this one are preferred.

    Raises:
        BadInput: ``key`` does not exist, or two names of the field are present.
    """
    if key is not None:
        return named(members, key, field, where)
    found = [m for m in members if m.base in field.names]
    if field.flag and len(found) > 1:
        # `captions` next to `caption_embeddings` usually holds strings.
        found = [m for m in found if m.dtype not in _TEXT_LIKE] or found
    if beside is not None and len(found) > 1:
        group = beside.name.rpartition("/")[0]
        found = [m for m in found if m.name.rpartition("/")[0] == group] or found
    if len(found) > 1:
        fix = f"choose one with {spell(field.flag, 'KEY')}" if field.flag else "keep only one of them"
        if field is IMAGES or field is TEXTS:
            fix = f"choose the arrays with {spell('image_key', 'KEY')} and {spell('text_key', 'KEY')}"
        names = " and ".join(f"'{m.name}' {m.shape}" for m in found[:4])
        raise BadInput(f"{field.words} occur under {len(found)} names: {names}", where=where, fix=fix)
    return found[0] if found else None


def pick_strings(members: Sequence[Member], field: Field) -> Member | None:
    """The first list of strings that has one of the names of ``field``, in their order; None without one.

    It may be (image, caption).
    """
    found = {m.base: m for m in reversed(members) if m.dtype in ("str", "bytes") and len(m.shape) in (1, 2)}
    return next((found[name] for name in field.names if name in found), None)


def named(members: Sequence[Member], key: str, field: Field, where: Path) -> Member:
    """The member called ``key``, in full or by the last part of a nested name; of a column of a table, of one side.

    Raises:
        BadInput: there is none, or the last part fits several.
    """
    of_side = f"{key}/{field.words.split()[0]}"
    found = [m for m in members if m.name in (key, of_side, f"{of_side}_embeddings")] or [
        m for m in members if m.base == key.lower()
    ]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(f"'{m.name}'" for m in found)
        raise BadInput(f"{spell(field.flag)} '{key}' fits {names}", where=where, fix="give the full name")
    near = closest(key, [m.name for m in members])
    fix = f"did you mean {' or '.join(repr(n) for n in near)}?" if near else "give one of the names above"
    raise BadInput(f"has no array '{key}' ({spell(field.flag)}); it holds {describe(members)}", where=where, fix=fix)


def describe(members: Sequence[Member], most: int = 12) -> str:
    """The arrays of a file with shapes and dtypes, in one line."""
    if not members:
        return "no arrays at all"
    tail = f", and {len(members) - most} more" if len(members) > most else ""
    return ", ".join(str(m) for m in members[:most]) + tail
