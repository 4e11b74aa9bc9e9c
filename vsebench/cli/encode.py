"""``vsebench encode``: embeddings of images and captions, by the reference trainer or by a pretrained model."""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UsageError, count_of
from ..log import logged
from ..options import spell
from ..pretrained.encode import encode
from ..pretrained.names import MODEL_FORMS, find
from .command import writing
from .terminal import Terminal
from .train import trainer

if TYPE_CHECKING:
    from ..pretrained.several import EncodedFile

RESUME = "interrupted; the same command goes on after the last finished part"


def run(
    terminal: Terminal,
    model: Sequence[str],
    *,
    images: Sequence[Path] = (),
    captions: Path | None = None,
    split: Sequence[str] = (),
    metrics: str | None = None,
    data: str | None = None,
    key: str | None = None,
    part: str | None = None,
    target: Path | None = None,
    device: str = "auto",
    **choices: Any,
) -> None:
    """Encode images and captions into a file for `vsebench eval`.

    A pretrained model needs --images, and --captions or --split unless the images come with captions. A checkpoint
    knows its data. Run the same command again to continue after an interrupt.

    vsebench encode open_clip:ViT-B-32/laion2b_s34b_b79k --images val2014 --split coco-5k

    Args:
        model: ``open_clip:NAME/WEIGHTS``, sentence-transformers:NAME or the folder of such a model, one or several; or
            a checkpoint or the folder of a run of train-reference.
        images: images for a pretrained model: a folder, parquet or .tar shards.
        captions: captions: .csv, .tsv, .jsonl, COCO annotations or a Karpathy file.
        split: test set with images and captions, such as f30k, or a set of `vsebench choice`.
        metrics: also evaluate the files: one table of models per test set.
        data: data for a checkpoint, if not the data it was trained on.
        key: name of the array in ``data``, if the file holds several (checkpoint).
        part: part of the data of a checkpoint: train, val or test (the default); of captions a value of the field
            split, or all.
        target: the .npz file, or a folder for several; named after the model by default.
        device: ``cpu`` or ``cuda``; for several GPUs: all, or 0,1.
    """
    if len(model) == 1 and find(model[0]) is None:
        defaults = {name: one.default for name, one in inspect.signature(encode).parameters.items()}
        of_model = {name: value for name, value in choices.items() if value != defaults[name]}
        given = {"images": images, "captions": captions, "key": key, "split": split, "metrics": metrics, **of_model}
        with writing([] if target is None else [target]):
            _checkpoint(terminal, Path(model[0]), data, part, target, device, given)
        return
    if data is not None or key is not None:
        name = "--key" if data is None else "--data"
        raise UsageError(f"{name} does not apply to a pretrained model", fix="give --images and --captions or --split")
    if not images:
        raise UsageError("no image folder is given", fix="give --images DIR, and --captions FILE or --split NAME")
    options = {"captions": captions, "split": split or None, "part": part, "device": device, "output": target}
    _pretrained(terminal, model, images, metrics, options | choices)


def _pretrained(
    terminal: Terminal, models: Sequence[str], images: Sequence[Path], metrics: str | None, options: dict[str, Any]
) -> None:
    import vsebench

    if metrics is not None:
        _check_metrics(metrics, options["split"] or [])
    try:
        with terminal.progress("encoding") as update:
            files = vsebench.encode_all(models, images, progress=update, **options)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(RESUME) from None
    one, documents = len(files) == 1, []
    for file in files:
        named = "" if one else f"{file.path.name}: "
        for note in file.notes:
            terminal.note(f"· {named}{note}")
        for warning in file.warnings:
            terminal.warn(f"{named}{warning}")
        counts = {"images": file.images, "captions": file.captions, "split": file.split}
        documents.append({"file": str(file.path), **counts, "kind": "embeddings"})
        documents[-1] |= {"encoder": file.about, "notes": list(file.notes), "warnings": list(file.warnings)}
        if not terminal.json:
            terminal.say(f"{file.path}: {_counted(counts)} of {file.split}")
            computed, dim = file.about["precision"], file.about["dim"]
            half = "" if computed == "float32" else f" computed in {computed},"
            terminal.note(f"· float32 vectors of length 1,{half} {dim:,} numbers, by {file.about['model']}")
    tables = [] if metrics is None else _tables(terminal, files, len(models), metrics)
    if terminal.json:
        terminal.emit(documents[0] if one and metrics is None else {"files": documents, "tables": tables})


def _check_metrics(metrics: str, splits: list[str]) -> None:
    """Refuse unknown metrics, and sets that have none, before any work."""
    from ..evaluation.request import request
    from ..sets import catalogue
    from ..sets.choices import layouts

    request(metrics=metrics)  # raises
    for name in splits:
        if name not in catalogue.names() and layouts.is_known(name):
            what = f"--metrics measures retrieval, and '{name}' is a set of choices"
            raise UsageError(what, fix=f"leave --metrics out, and run vsebench choice FILE --set {name}")


def _tables(terminal: Terminal, files: Sequence[EncodedFile], models: int, metrics: str) -> list[dict[str, Any]]:
    """Print a table of the models for every set; returns their documents."""
    import vsebench

    from .evaluate import together
    from .results import Output, remark

    sets, documents = len(files) // models, []
    for at in range(sets):
        reports = {}
        for file in files[at::sets]:
            split = None if file.split == "custom" else file.split
            with terminal.progress(f"ranking {file.path.name}") as update:
                # The rows have ids, so that recall at chance is that of the model.
                found = vsebench.evaluate(file.path, split=split, metrics=metrics, trust=True, progress=update)
            reports[file.model] = found
        table = together(reports, metrics)
        name = files[at].set
        documents.append({"set": name, **json.loads(table.to_json(per_query=False))})
        if terminal.json:
            remark(terminal, table)
        else:
            terminal.say(f"\n{name}" if sets > 1 else "")
            Output(terminal).deliver(table)
    return documents


def _counted(counts: dict[str, Any]) -> str:
    return f"{count_of(counts['images'], 'image')} and {count_of(counts['captions'], 'caption')}"


def _checkpoint(
    terminal: Terminal,
    checkpoint: Path,
    data: str | None,
    part: str | None,
    output: Path | None,
    device: str,
    given: dict[str, Any],
) -> None:
    folders = given["images"] or []
    if len(folders) > 1:
        raise UsageError("several --images for a checkpoint", fix="give one folder")
    given["images"] = folders[0] if folders else None
    if not checkpoint.exists() and any(given.values()):
        raise UsageError(f"'{checkpoint}' is neither a known model nor a file", fix=f"give {MODEL_FORMS}")
    named = {name: None if (value := given.pop(name)) is None else str(value) for name in ("captions", "images", "key")}
    if name := next((name for name, value in given.items() if value), None):
        what = f"{spell(name)} does not apply to '{checkpoint}', which is not a pretrained model"
        raise UsageError(what, fix=f"leave it out for a checkpoint of train-reference, or give {MODEL_FORMS}")
    part = part or "test"
    encoder = trainer("encode")
    target = output or Path(f"{checkpoint.stem or 'embeddings'}-{part}.npz")
    with terminal.progress("encoding") as update, logged() as log:
        result, chosen = encoder.encode(checkpoint, data, part, target, **named, device=device, update=update)
    for note in log.notes:
        terminal.note(f"· {note}")
    split = chosen.split
    captions = 0 if "labels" in result else len(split.columns)
    counts = {"images": len(split.rows), "captions": captions, "split": split.name}
    document = {"file": str(target), **counts, "kind": "scores" if "scores" in result else "embeddings"}
    terminal.answer(document, f"{target}: {_counted(counts)} of {split.name}")
