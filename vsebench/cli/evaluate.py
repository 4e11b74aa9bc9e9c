"""``vsebench eval``: from the files of the command line to the report of a system, or the table of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .terminal import Terminal

if TYPE_CHECKING:
    from ..results.render import Result
    from ..results.report import Report

System = tuple[str, Path | None, Path | None]  # its name, and the files of its images (or both sides) and texts


def run(terminal: Terminal, files: Sequence[str], *, intervals: bool = False, **given: Any) -> Any:
    """Evaluate one system, or several in one table.

    FILE holds image and text vectors. Known ids select the test set. For languages: de.npz ja.npz --split xflickrco.

    Example: vsebench eval embeddings.npz --metrics R@1,RSum,eccv -o A.json

    Args:
        files: embeddings (.npz, .npy, .safetensors, .pt, .h5, .parquet, or a folder of shards), or images followed by
            texts; several files are several systems, and NAME=FILE names one.
        intervals: show the interval of every value (several systems).
    """
    import vsebench

    from ..evaluation import saved_run
    from ..evaluation.assemble import with_command

    gains, save_run = given.pop("gains"), given["save_run"]
    given |= {"gains": ",".join(gains) if gains else ()}
    systems = systems_of(files, given.pop("texts"), bool(given["scores"] or given["run"]), save_run)
    split = given["split"]
    runs = {} if save_run is None else saved_run.files(Path(save_run))
    reports: dict[str, Report] = {}
    for name, images, texts in systems:
        with terminal.progress("ranking" if len(systems) == 1 else f"ranking {name}") as progress:
            report = vsebench.evaluate(images, texts, progress=progress, **given | {"split": split_for(split, name)})
        reports[name] = with_command(report)
        # Systems that differ are refused before the next one is evaluated.
        result = together(reports, given["metrics"], intervals)
    written = [f"--run {d}={path}" for d, path in runs.items() if d and path.exists()]
    if written:
        terminal.note(f"· the rankings are TREC runs, to be read back with {' '.join(written)}")
    return result


def split_for(split: str | None, name: str) -> str | None:
    """The split of a system; of a test set in several languages that of the language that the system is named after."""
    from ..sets.published import SETS, named_language

    found = named_language(name, SETS[split].languages) if split in SETS else None
    return split if found is None else f"{split}:{found[1]}"


def systems_of(files: Sequence[str], texts: Path | None, other: bool, save_run: Path | None) -> list[System]:
    """The systems that some files hold; one without files, for scores and retrieved lists.

    Args:
        files: ``FILE`` or ``NAME=FILE``.
        texts: the option ``--texts``.
        other: scores or retrieved lists are given as well, which ``evaluate`` refuses beside a file.
        save_run: the option ``--save-run``.

    Raises:
        UsageError: options of one system with several, or two systems of one name.
        BadInput, MissingPackage: as ``files.read.group``.
    """
    from ..analysis.systems import named, names_of
    from ..errors import UsageError
    from ..files.read import group

    given = [named(text) for text in files]
    if len(given) < 2 or other:
        name, path = given[0] if given else (None, None)
        return [(name or (path.stem if path else ""), path, texts)]
    if texts is not None:
        what = f"--texts belongs to one file of images, and {len(given)} files are given"
        raise UsageError(what, fix="give the texts after their image file: vsebench eval images.npy texts.npy")
    systems = group(given)
    if len(systems) > 1 and save_run is not None:
        what = f"--save-run writes the rankings of one system, and {len(systems)} are given"
        raise UsageError(what, fix="evaluate them one by one")
    again = next((images for name, images, second in systems if systems.count((name, images, second)) > 1), None)
    if again is not None:
        raise UsageError("the same file is given twice", where=again, fix="give every file once")
    names = names_of([(name, images) for name, images, _ in systems])
    return [(name, images, second) for name, (_, images, second) in zip(names, systems, strict=True)]


def together(reports: Mapping[str, Report], metrics: str | None, intervals: bool = False) -> Result:
    """The report of one system, or the table of several; raises UsageError if they were evaluated differently."""
    from ..analysis.one_table import in_one_table
    from ..analysis.systems import NotComparable, load_systems

    if len(reports) == 1:
        return next(iter(reports.values()))
    try:
        return in_one_table(load_systems(reports), metrics, intervals=intervals)
    except NotComparable as error:
        error.fix = "evaluate them one by one, or pass the --split that they share"
        raise
