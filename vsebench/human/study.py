"""A study: relevances and a model against human judgements."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path

from ..errors import MissingPackage, UsageError, count_of, unknown
from ..files import read
from ..log import logged
from ..options import public, spell
from ..relevance.sources import load_gains
from ..results.model import check_level, check_seed
from ..results.render import Result
from ..sets import catalogue
from ..sets.items import align_embeddings
from ..types import Embeddings, Float, Modality
from . import sources
from .correlation import Over, Row, study
from .cxc import TASKS, fetch, read_cxc
from .flickr8k import read_flickr8k
from .judgements import find
from .models import SAMPLES, Similarity, model_rows
from .protocols import Task, correlations, cxc_task, flickr8k_tasks, values

DATA: dict[str, tuple[str, ...]] = {"cxc": tuple(TASKS), "flickr8k": ("expert", "crowdflower")}
DEFAULT_GAINS: dict[str, tuple[str, ...]] = {"cxc": ("binary", "cider"), "flickr8k": ("cider",)}
SPLIT = "coco-5k"

Names = str | Sequence[str]
PathLike = str | os.PathLike[str]
Bar = Callable[[str], AbstractContextManager[Callable[[int, int], None] | None]]


@public
def correlate(
    data: str,
    *,
    gains: Names | None = None,
    embeddings: PathLike | None = None,
    texts: PathLike | None = None,
    image_key: str | None = None,
    text_key: str | None = None,
    similarity: Similarity = "cosine",
    tasks: Names | None = None,
    human_data: PathLike | None = None,
    ci: float = 95,
    seed: int = 0,
    over: Over = "images",
    java: str | None = None,
    bar: Bar | None = None,
) -> Result:
    """Correlate relevance or a model with human ratings: Pearson, Spearman and Kendall, with intervals.

    Args:
        data: ``cxc`` (Crisscrossed Captions) or ``flickr8k`` (experts and CrowdFlower).
        gains: relevance to correlate: kinds of gains (docs/relevance.md), binary, or captioning scores; binary and
            cider by default. In Python also a list.
        embeddings: vectors of COCO 5K (for cxc).
        texts: caption vectors, if ``embeddings`` is an .npy of images.
        image_key: name of the array of image vectors in the file.
        text_key: name of the array of caption vectors.
        similarity: ``cosine`` or dot.
        tasks: ``sits``, sts and sis (cxc), expert and crowdflower (flickr8k); all by default. In Python also a list.
        human_data: folder of the ratings; by default VSEBENCH_HUMAN_DATA, or human in the cache.
        ci: confidence level of the intervals in percent; 0 for none.
        seed: random seed.
        over: what the jackknife of the intervals leaves out: ``images`` (all pairs of an image together) or ``pairs``.
        java: a Java folder or program for METEOR.
        bar: a function of a title that returns a context manager; its value is called with (done, total).

    Raises:
        UsageError: unknown names, or options that do not fit together.
        MissingPackage: judgements, captions or a package are absent, with the command that installs them.
        BadInput: a damaged file.

    Example, with the ``folder`` of the ratings:
        >>> import vsebench
        >>> # folder: the folder of the rating files
        >>> study = vsebench.correlate("flickr8k", gains="cider", human_data=folder, ci=0)
        >>> study.to_frame().task.unique().tolist()
        ['Expert', 'CrowdFlower']
    """
    chosen = _tasks(data, tasks)
    default = gains is None and embeddings is None
    names = list(dict.fromkeys(map(sources.check, DEFAULT_GAINS[data] if default else _listed(gains))))
    _check_options(data, embeddings, {"texts": texts, "image_key": image_key, "text_key": text_key}, similarity, over)
    if not names and embeddings is None:
        raise UsageError(
            "nothing to correlate",
            fix=f"give gains ({spell('gains', 'NAMES')}) or embeddings ({spell('embeddings', 'FILE')})",
        )
    level = check_level(ci) if ci else None
    check_seed(seed)
    if data == "cxc":
        _check_cxc(chosen, human_data, names)
    correlated = partial(correlations, level=level, over=over)
    rows: list[Row] = []
    notes: list[str] = []
    settings: dict[str, dict[str, str]] = {}
    if embeddings is not None:
        file = Path(embeddings)
        vectors, read_notes = _vectors(file, texts, image_key, text_key)
        settings[file.name] = {"similarity": similarity, "samples": str(SAMPLES), "seed": str(seed)}
        notes += read_notes
        for task in _cxc(chosen, human_data, False):
            rows += model_rows(task, file.name, vectors, similarity, level, over, seed)
    for group in _groups(data, chosen, names, human_data) if names else ():
        for name in names:
            with logged() as log:
                found, source = _relevance(name, group, correlated, java, bar or (lambda _: nullcontext()))
            rows, notes = rows + found, notes + log.notes
            if source is not None:
                settings.setdefault(name, {}).update(source.settings)
            notes += [
                f"{name} is left out for {task.name}: it compares a caption with references"
                for task in group
                if not sources.fits(name, task)
            ]
    order = {name: k for k, name in enumerate(chosen)}
    rows.sort(key=lambda row: (order[row.task.lower()], row.subset != "all"))
    return study(data, rows, settings, tuple(dict.fromkeys(notes)), level, over, seed)


def _listed(names: Names | None) -> list[str]:
    return [n.strip() for n in (names.split(",") if isinstance(names, str) else names or ()) if n.strip()]


def _tasks(data: str, tasks: Names | None) -> list[str]:
    if data not in DATA:
        raise unknown("judgements", data, DATA)
    chosen = _listed(tasks)
    for task in chosen:
        if task not in DATA[data]:
            raise unknown(f"task of {data}", task, DATA[data])
    return list(dict.fromkeys(chosen or DATA[data]))


def _check_options(
    data: str, embeddings: PathLike | None, of_the_file: dict[str, object], similarity: str, over: str
) -> None:
    if embeddings is not None and data == "flickr8k":
        what = "embeddings are correlated with CxC only"
        raise UsageError(what, fix="use: vsebench correlate cxc --embeddings FILE")
    for name, value in of_the_file.items():
        if embeddings is None and value is not None:
            raise UsageError(f"{spell(name)} needs {spell('embeddings')}", fix="leave it out")
    if similarity not in ("cosine", "dot"):
        raise UsageError(f"{spell('similarity')} is '{similarity}'", fix="use cosine or dot")
    if over not in ("images", "pairs"):
        raise UsageError(f"{spell('over')} is '{over}'", fix="use images or pairs")


def _check_cxc(chosen: Sequence[str], folder: PathLike | None, names: Sequence[str]) -> None:
    """Name everything that is missing in one error: ratings, the packages of the split, parsed captions."""
    captions = any(sources.needs_captions(name) for name in names)
    spice = [name for name in names if name.partition(":")[0] == "spice"]
    missing: dict[str, str | None] = {}
    for step in (
        lambda: find([f"{task}_test.csv" for task in TASKS if task in chosen], folder, fetch()),
        lambda: catalogue.load_split(SPLIT, captions=captions and bool(missing)),
        # Captions and tuples only to complete the message, as loading takes seconds.
        lambda: [load_gains(name, catalogue.load_split(SPLIT, captions=True)) for name in spice if missing],
    ):
        try:
            step()
        except MissingPackage as error:
            missing.setdefault(error.what, error.fix)
    if len(missing) == 1:
        ((what, fix),) = missing.items()
        raise MissingPackage(what, fix=fix)
    if missing:
        what = "; ".join(f"({n}) {text}" for n, text in enumerate(missing, 1))
        fix = "; ".join(f"({n}) {text}" for n, text in enumerate(missing.values(), 1))
        raise MissingPackage(f"{count_of(len(missing), 'thing is', 'things are')} missing: {what}", fix=fix)


def _groups(data: str, chosen: Sequence[str], names: Sequence[str], folder: PathLike | None) -> list[list[Task]]:
    """The tasks, grouped by the split that their relevances are made from."""
    if data == "cxc":
        return [_cxc(chosen, folder, any(sources.needs_captions(name) for name in names))]
    return [[task] for task in flickr8k_tasks(read_flickr8k(folder)) if task.name.lower() in chosen]


def _cxc(chosen: Sequence[str], folder: PathLike | None, captions: bool) -> list[Task]:
    ratings = [read_cxc(task, folder) for task in TASKS if task in chosen]
    split = catalogue.load_split(SPLIT, captions=captions)
    return [cxc_task(r, split) for r in ratings]


def _relevance(
    name: str, group: list[Task], correlated: Callable[[Task, str, Float], list[Row]], java: str | None, bar: Bar
) -> tuple[list[Row], sources.OfPairs | None]:
    """The rows of one relevance for the tasks that it has values for."""
    suited = [task for task in group if sources.fits(name, task)]
    if not suited:
        return [], None
    with bar(name):
        source = sources.open_source(name, suited[0], java)
        found = [(task, values(task, source.gain)) for task in suited]
    return [row for task, x in found for row in correlated(task, name, x)], source


def _vectors(
    file: Path, texts: PathLike | None, image_key: str | None, text_key: str | None
) -> tuple[dict[Modality, Embeddings], list[str]]:
    """The vectors of a file in the order of COCO 5K, and notes on reading them."""
    beside = None if texts is None else Path(texts)
    with logged() as log:
        raw = read.read_embeddings(file, texts=beside, image_key=image_key, text_key=text_key)
        _, (images, captions) = align_embeddings(raw, SPLIT, None)
    return {"image": images, "caption": captions}, [*log.notes, *log.warnings]
