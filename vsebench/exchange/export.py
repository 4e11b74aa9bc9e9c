"""``export``, the public call, and ``FORMATS``, the one table."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ..analysis.systems import load_all
from ..errors import UsageError, count_of
from ..files.atomic import write_atomically
from ..files.regular import read_bytes
from ..options import check_word, public, spell
from ..results.report import Report
from . import exported, mteb
from .exported import Exported

# Name -> the files of a report (path below the folder of the export -> content), and what reads them.
FORMATS: dict[str, tuple[Callable[[Exported], Mapping[str, bytes]], str]] = {
    "mteb": (mteb.files, "mteb.TaskResult.from_disk(FILE)"),
    "model-index": (exported.files, "huggingface_hub.metadata_update(MODEL, yaml.safe_load(TEXT))"),
}


class Written(tuple[Path, ...]):
    """The files of an export.

    Attributes:
        replaced: those that were there with another content.
    """

    replaced: tuple[Path, ...] = ()


@public
def export(
    report: str | os.PathLike[str] | Report | Sequence[str | os.PathLike[str] | Report],
    to: str,
    path: str | os.PathLike[str] = "export",
    *,
    model: str | None = None,
    dataset: str | None = None,
    url: str | None = None,
    evaluator: str | None = None,
) -> Written:
    """Write a report as files of another tool; nothing is sent anywhere.

    Args:
        report: a saved report, or one in memory; for ``mteb`` also several of one system, on the languages of one test
            set, as a list or as the saved table of them.
        to: the format: ``mteb`` or ``model-index``.
        path: a folder for the files. The format prescribes their names; existing files are replaced.
        model: model name as ORG/NAME; by default the name of the report or of the vectors.
        dataset: Hub id of the test data, as ORG/NAME.
        url: link to logs, code or a paper behind the numbers.
        evaluator: who evaluated, a person or an organisation.

    Returns:
        The files, a tuple; its ``replaced`` are those that had another content before.

    Raises:
        UsageError: no such format, or the report lacks what the format needs.
        BadInput: the file is no report.
        DiskError: a file cannot be written.

    Example:
        >>> import numpy as np
        >>> import tempfile
        >>> import vsebench as vb
        >>> images = np.random.default_rng(0).standard_normal((20, 8))
        >>> report = vb.evaluate(images, images, captions_per_image=1, metrics="R@1,MedR")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     (file,) = vb.export(report, to="model-index", path=folder, model="me/identity")
        ...     file.name
        'model-index.yaml'
    """
    check_word("to", to, tuple(FORMATS))
    given = [report] if isinstance(report, (str, os.PathLike, Report)) else list(report)
    reports = tuple(each for one in given for each in ([one] if isinstance(one, Report) else load_all(one)))
    if not reports or (len(reports) > 1 and to != "mteb"):
        fix = "give a report" if not reports else "export every report by itself"
        raise UsageError(f"{count_of(len(reports), 'report')} for the format {to}", fix=fix)
    if model is None:
        inputs = reports[0].provenance.get("inputs")  # which others may have written
        first = inputs[0] if isinstance(inputs, list) and inputs and isinstance(inputs[0], dict) else {}
        model = Path(str(first.get("file", "model")) if isinstance(given[0], Report) else given[0]).stem
    if not model.strip("/ ") or not model.isprintable():
        raise UsageError(f"{spell('model')} is {model!r:.80}", fix="give a name, as in my-lab/my-model")
    made = FORMATS[to][0](Exported(reports, model, dataset or "", url or "", evaluator or ""))
    written = Written(Path(path) / name for name in made)
    written.replaced = tuple(f for f, data in zip(written, made.values(), strict=True) if _differs(f, data))
    for file, data in zip(written, made.values(), strict=True):
        with write_atomically(file, parents=True) as stream:
            stream.write(data)
    return written


def _differs(file: Path, data: bytes) -> bool:
    """Whether a file is there with another content."""
    return file.is_file() and (file.stat().st_size != len(data) or read_bytes(file, "remove it") != data)
