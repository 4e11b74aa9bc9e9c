"""Evaluation in a validation loop: vectors come in batches, with the ids of their items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import as_array, composed, id_rows, numbers
from ..errors import BadInput, UsageError, count_of, format_value
from ..files.ids import as_ids
from ..log import logged
from ..memory import text_array
from ..options import bound, public, spell
from ..relevance.matrix import of_matrix
from ..relevance.sources import SOURCES, load_gains
from ..results.report import Report
from ..sets import catalogue
from ..sets.match import with_captions
from ..types import Embeddings, Modality, Side, TestSet, Vectors
from .options import Options
from .plan import load_judgements
from .request import request
from .run import evaluate

CAPTIONS_PER_IMAGE = 5
# Between two vectors of one item: bfloat16 and batch sizes change them less, dropout more.
MAX_RELATIVE_DISTANCE = 0.1
# Arguments of an evaluation that ``update`` takes here, or that name files.
_INPUTS = (
    "images", "texts", "scores", "run", "image_ids", "text_ids", "query_ids", "corpus_ids", "image_id_of_text",
    "image_key", "text_key", "scores_key",
)  # fmt: skip
BY_IDS = "image_ids and text_ids"  # the ids of updates without a split


Key = int | str
Kept = tuple[int, Vectors]  # the vector of an item behind a number: of repeated ones the smallest is kept


def _spelled(key: Any) -> str:
    """How ids are compared: numbers are digits, and strings are in Unicode NFC."""
    return composed(str(key))


class Accumulator:
    """Collects the vectors of a validation loop in any order, and evaluates them when all are there.

    ``update`` takes a batch, ``compute`` returns the ``Report`` of ``vsebench.evaluate``, ``reset`` starts anew.
    They are copied to the CPU as float32 without their gradient, so that batches can be released.

    Args:
        split: a ``TestSet`` or the name of a declared one. Without it the captions are rows 0, 1, 2, ... of the test
            set, ``captions_per_image`` an image, or ``update`` gets the ids of both sides.
        captions_per_image: without a split: captions an image; 5 by default.
        options: as for ``vsebench.evaluate``, such as ``metrics``, ``gains`` or ``ci`` (0 saves the time for
            intervals). ``trust`` is True here: ids decide the order, and a model that is not trained yet may be at
            chance.

    Raises:
        UsageError: an unknown option, metric or split, or a value of a wrong type.
        BadInput: with a split, judgements, captions or a file of gains that are not of its items.
        MissingPackage: the split is not installed.

    Example, a loader that repeats every image for each of its captions and shuffles them:
        >>> import numpy as np
        >>> import vsebench as vb
        >>> rng = np.random.default_rng(0)
        >>> vectors = rng.standard_normal((20, 8))  # of 20 images with 5 captions each
        >>> validation = vb.Accumulator(metrics="R@1,RSum", ci=0)
        >>> for ids in np.array_split(rng.permutation(100), 7):
        ...     validation.update(vectors[ids // 5], vectors[ids // 5], ids)
        >>> report = validation.compute()
        >>> report.to_dict(prefix="val/")
        {'val/R@1 i2t': 1.0, 'val/R@1 t2i': 1.0, 'val/RSum': 6.0}
        >>> validation.reset()
    """

    def __init__(
        self, split: TestSet | str | None = None, *, captions_per_image: int | None = None, **options: Any
    ) -> None:
        if wrong := [name for name in _INPUTS if name in options]:
            raise UsageError(
                f"Accumulator has no argument '{wrong[0]}'", fix="give vectors and ids to update(), batch by batch"
            )
        bound(evaluate, (), options)
        parsed = Options(split=split, captions_per_image=captions_per_image, **options)
        checked = request(**vars(parsed))  # raises for wrong options
        if checked.folder is not None:
            what = "split is a folder of queries and a corpus, which Accumulator does not read"
            raise UsageError(what, fix="collect the vectors, and give them to vsebench.evaluate")
        split, captions_per_image = checked.split, parsed.captions_per_image
        if split is not None and split != "custom" and captions_per_image is not None:
            raise UsageError(f"{spell('captions_per_image')} cannot be combined with a split", fix="leave it out")
        loaded = split if isinstance(split, TestSet) else None
        if isinstance(split, str) and split != "custom":
            loaded = catalogue.load_split(split)
        if loaded is not None:  # ids of other items too
            with logged():
                load_judgements(checked.judgements, checked.level, loaded)
                if checked.captions is not None:
                    with_captions(loaded, checked.captions)
                for spec in checked.gains.values():
                    if spec.values is not None:
                        of_matrix(loaded, spec.values)
                    elif SOURCES[spec.kind].endings:
                        load_gains(spec, loaded)
        self._split = loaded
        self._per_image = captions_per_image or CAPTIONS_PER_IMAGE
        self._options = {"trust": True, **{name: getattr(parsed, name) for name in options}}
        ids = {} if loaded is None else {"image": loaded.rows.ids, "text": loaded.columns.ids}
        self._known = {side: {_spelled(key): key for key in names.tolist()} for side, names in ids.items()}
        self.reset()

    def reset(self) -> None:
        """Forget all vectors; the options stay."""
        self._images: dict[Key, Kept] = {}
        self._captions: dict[Key, Kept] = {}
        self._owner: dict[Key, Key] = {}  # caption id -> image id, without a split
        self._by: str | None = None  # without a split: the kind of ids, "ids" or "image_ids and text_ids"

    def __repr__(self) -> str:
        split = "" if self._split is None else f" of {self._split.name}"
        return f"Accumulator({len(self._images):,} images, {len(self._captions):,} texts{split})"

    def __len__(self) -> int:
        """The number of captions so far."""
        return len(self._captions)

    @public
    def update(
        self,
        images: npt.ArrayLike | None = None,
        texts: npt.ArrayLike | None = None,
        ids: npt.ArrayLike | None = None,
        *,
        image_ids: npt.ArrayLike | None = None,
        text_ids: npt.ArrayLike | None = None,
    ) -> None:
        """Add a batch. Items may come in any order and several times: the vectors of an item must then agree.

        Args:
            images: (item, dim) floats, an array or a torch tensor; with ``ids`` one row a caption, so that the vector
                of an image is repeated for its captions. The first of equal images is kept.
            texts: (item, dim) floats.
            ids: (item,) integers, the rows of the captions in the test set, counted from 0: the index of a data set
                with an item a caption, which VSE++ and SCAN loaders return.
            image_ids: (item,) instead of ``ids``: ids of the split, for loaders that have images apart from captions.
                Without a split images and captions are given in pairs. ``"7"`` is ``7``, as in files.
            text_ids: (item,) likewise.

        Raises:
            UsageError: ids that are missing or do not fit the vectors.
            BadInput: ids that are not in the split, vectors of another width, or two vectors of one item that differ.
        """
        if images is None and texts is None:
            raise UsageError("neither images nor texts are given", fix="give the vectors of a batch")
        if (ids is None) == (image_ids is None and text_ids is None):
            raise UsageError(
                "ids are missing" if ids is None else "ids are given twice",
                fix="give ids (rows of the captions, from 0), or image_ids and text_ids (ids of the split)",
            )
        image_keys, caption_keys, ranks = (
            self._of_rows(ids) if ids is not None else self._of_ids(images, texts, image_ids, text_ids)
        )
        self._add(self._images, "image", images, image_keys, ranks)
        self._add(self._captions, "text", texts, caption_keys, [0] * len(caption_keys))

    @public
    def compute(self) -> Report:
        """The report of all vectors; more updates may follow.

        Raises:
            BadInput: items of the split are missing; judgements, gains or captions without ids beside updates with
                ``image_ids`` and ``text_ids`` alone, in the order of a loader; or as ``vsebench.evaluate``.
        """
        if not self._captions or not self._images:
            raise BadInput(
                "there are no vectors of " + ("images" if self._captions else "captions"), fix="call update()"
            )
        split = self._items()
        sides = []
        kinds: tuple[tuple[Modality, dict[Key, Kept]], ...] = (("image", self._images), ("caption", self._captions))
        for side, kept in kinds:
            keys = split.side(side).ids.tolist()
            keys = [str(key) for key in keys] if self._split is None and self._by == BY_IDS else keys
            missing = [key for key in keys if key not in kept]
            if missing:
                raise BadInput(
                    f"{len(missing):,} of {len(keys):,} {side}s have no vector (first: {side} {missing[0]})",
                    fix="update with every batch; a loader with drop_last=True, and a shard of a distributed one, "
                    "leave items out",
                )
            vectors = np.stack([kept[key][1] for key in keys])
            sides.append(Embeddings(side, split.side(side).ids, vectors))
        return evaluate(*sides, split=split, **self._options)

    def _of_rows(self, ids: npt.ArrayLike) -> tuple[list[Key], list[Key], list[int]]:
        """The image and the caption of every row, and the row."""
        rows = as_array(ids, "ids")
        if rows.ndim != 1 or rows.dtype.kind not in "iu":
            what = f"ids is {format_value(ids)}" if rows.ndim != 1 else f"ids are {rows.dtype}"
            raise UsageError(what, fix="give one integer per row: the index of the caption in the test set, from 0")
        n = None if self._split is None else len(self._split.columns.ids)
        bad = rows[(rows < 0) | (rows >= (np.inf if n is None else n))]
        if len(bad):
            scope = "" if n is None else f" of the {n:,} captions of split '{self._split.name}'"  # type: ignore[union-attr]
            what = f"ids hold {bad[0]}, which is not a row{scope}"
            raise BadInput(what, fix="count rows from 0; pass ids of the split as text_ids")
        self._check_id_kind("ids")
        if self._split is None:
            return (rows // self._per_image).tolist(), rows.tolist(), rows.tolist()
        owners, captions = self._split.rows.ids[self._split.owners[rows]], self._split.columns.ids[rows]
        return owners.tolist(), captions.tolist(), rows.tolist()

    def _of_ids(
        self, images: Any, texts: Any, image_ids: npt.ArrayLike | None, text_ids: npt.ArrayLike | None
    ) -> tuple[list[Key], list[Key], list[int]]:
        """The images and the captions of ids, and the place of every image among repeated ones."""
        keys: list[list[Key]] = []
        for side, vectors, given in (("image", images, image_ids), ("text", texts, text_ids)):
            if (vectors is None) != (given is None):
                raise UsageError(f"{side}s and {side}_ids must be given together", fix="give both or neither")
            name = f"{side}_ids"
            named = [] if given is None else [_spelled(x) for x in id_rows(given, name).tolist()]
            known: Mapping[str, Key] = self._known.get(side) or dict(zip(named, named, strict=True))
            if strange := [x for x in named if x not in known]:
                counted = count_of(len(strange), f"{side} id is", f"{side} ids are")
                what = f"{counted} not in split '{self._split.name}' (first: {strange[0]})"  # type: ignore[union-attr]
                raise BadInput(what, fix="give ids of the split; rows counted from 0 are ids")
            keys.append([known[x] for x in named])
        if self._split is not None:
            return keys[0], keys[1], [0] * len(keys[0])
        if len(keys[0]) != len(keys[1]):
            what = "without a split, images and captions must be given in pairs"
            raise UsageError(
                what, fix="repeat the images for their captions, or pass the split: Accumulator(split=...)"
            )
        self._check_id_kind(BY_IDS)
        for image, caption in zip(*keys, strict=True):
            if self._owner.setdefault(caption, image) != image:
                what = f"caption {caption} belongs to image {self._owner[caption]} and to image {image}"
                raise BadInput(what, fix="give every caption one id")
        return keys[0], keys[1], [0] * len(keys[0])

    def _check_id_kind(self, what: str) -> None:
        if self._split is None and self._by not in (None, what):
            raise UsageError(
                f"items were identified by {self._by} before, and by {what} now",
                fix="use one kind of ids, or pass split",
            )
        self._by = what

    def _add(self, kept: dict[Key, Kept], side: str, vectors: Any, keys: Sequence[Key], ranks: Sequence[int]) -> None:
        if vectors is None:
            return
        array = numbers(vectors, f"{side}s")
        if array.ndim != 2 or len(array) != len(keys):
            what = f"{side}s are a batch of shape {array.shape} for {len(keys)} ids"
            raise UsageError(what, fix="give one vector per id; repeat images for their captions, or pass image_ids")
        width = next((len(vector) for _, vector in (*self._images.values(), *self._captions.values())), array.shape[1])
        if array.shape[1] != width:
            what = f"{side} vectors have {array.shape[1]} dimensions, other vectors {width}"
            raise BadInput(what, fix="give both in the joint space of the model, after its projections")
        for key, rank, row in zip(keys, ranks, array.astype(np.float32), strict=True):
            known = kept.get(key)
            largest = 0.0 if known is None else float(max(np.linalg.norm(known[1]), np.linalg.norm(row)))
            if known is not None and np.linalg.norm(known[1] - row) > MAX_RELATIVE_DISTANCE * largest:
                raise BadInput(
                    f"{side} {key} has two vectors that differ",
                    fix="call model.eval() (dropout is random), and check that every id belongs to its row",
                )
            if known is None or rank < known[0]:
                kept[key] = rank, row.copy()

    def _items(self) -> TestSet:
        """The split of the items, with their keys as ids."""
        if self._split is not None:
            return self._split
        if self._by == BY_IDS:
            names = {"text_ids": list(self._owner), "image_ids": list(self._owner.values())}
            texts = {name: text_array([str(key) for key in keys], name) for name, keys in names.items()}
            captions, owners = (as_ids(ids, name, "update()") for name, ids in texts.items())
            order, (images, owner) = np.argsort(captions), np.unique(owners, return_inverse=True)
            return replace(TestSet.captioned("custom", images, captions[order], owner[order]), ordered=False)
        n = max(int(row) for row in self._captions) + 1
        if n % self._per_image:
            what = f"{n:,} captions are not a multiple of {self._per_image} captions per image"
            fix = f"give {spell('captions_per_image', 'N')} or pass split; a loader with drop_last=True drops items"
            raise BadInput(what, fix=fix)
        rows, columns = Side("image", np.arange(n // self._per_image), numbered=True), np.arange(n)
        return TestSet("custom", rows, Side("caption", columns, numbered=True), columns // self._per_image)
