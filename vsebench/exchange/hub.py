"""Results on the Hugging Face Hub, as YAML.

``model-index`` is part of the metadata of a model card (https://github.com/huggingface/hub-docs, modelcard.md);
``.eval_results/*.yaml`` gives one value a task of a benchmark (the same place, docs/hub/eval-results.md).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..errors import UsageError
from ..options import spell
from .exported import Exported, file_name, key_of, name_of

TASK = "image-text-retrieval"


def yaml(value: Any) -> str:
    """Plain values (mappings, sequences, texts, numbers, None) as block-style YAML 1.1; every text is quoted."""
    return "\n".join(_lines(value)) + "\n"


def _lines(value: Any) -> Iterator[str]:
    """The lines of a mapping or a sequence that is not empty."""
    parts: list[tuple[str, Any]]
    if isinstance(value, Mapping):
        parts = [(f"{key}:", item) for key, item in value.items()]
    else:
        parts = [("-", item) for item in value]
    for head, item in parts:
        nested = isinstance(item, (Mapping, Sequence)) and not isinstance(item, str) and len(item) > 0
        if not nested:
            yield f"{head} {_scalar(item)}"
        elif head == "-":
            first, *others = _lines(item)
            yield f"- {first}"
            yield from (f"  {line}" for line in others)
        else:
            yield head
            yield from (f"  {line}" for line in _lines(item))


def _scalar(value: Any) -> str:
    if isinstance(value, float) and math.isfinite(value):  # YAML 1.1 takes 1e-05 for a text
        mantissa, e, exponent = repr(value).partition("e")
        return f"{mantissa if '.' in mantissa or not e else mantissa + '.0'}{e}{exponent}"
    return json.dumps(value)


def model_index(exported: Exported) -> dict[str, bytes]:
    """``model-index.yaml``: all results of the test set, as fractions, with intervals and the signature."""
    report = exported.report
    metrics = []
    for result in report.results:
        facts = {"direction": result.direction, "interval": result.interval and [float(x) for x in result.interval]}
        args: dict[str, Any] = {key: value for key, value in facts.items() if value is not None}
        args |= {"queries": result.n, "signature": report.signature}
        value = float(result.value)
        metrics.append({"type": str(result.metric), "value": value, "name": name_of(result), "args": args})
    one: dict[str, Any] = {
        "task": {"type": TASK, "name": "Image-text retrieval"},
        "dataset": {"type": exported.dataset or report.split, "name": report.split},
        "metrics": metrics,
    }
    one |= {"source": {"name": exported.evaluator or "vsebench", "url": exported.url}} if exported.url else {}
    document = {"model-index": [{"name": exported.model.rpartition("/")[2], "results": [one]}]}
    return {"model-index.yaml": yaml(document).encode()}


def eval_results(exported: Exported) -> dict[str, bytes]:
    """``.eval_results/vsebench-SPLIT.yaml``: an entry a number; the tasks are those keys, such as ``i2t_R@1``.

    The benchmark, a dataset of the Hub, has to declare tasks of these names in its ``eval.yaml``.

    Raises:
        UsageError: no dataset.
    """
    if exported.dataset.count("/") != 1:
        what = f"{spell('dataset')} is '{exported.dataset}', and results of the Hub belong to a benchmark of the Hub"
        raise UsageError(what, fix=f"name it: {spell('dataset', 'ORG/NAME')}")
    source = {"source": {"url": exported.url, "name": exported.evaluator or "vsebench"}} if exported.url else {}
    entries = [
        {
            "dataset": {"id": exported.dataset, "task_id": key_of(result)},
            "value": float(result.value),
            "date": exported.started.isoformat(),
            **source,
            "notes": f"{name_of(result)}; {exported.report.signature}",
        }
        for result in exported.report.results
    ]
    return {f".eval_results/vsebench-{file_name(exported.report.split)}.yaml": yaml(entries).encode()}
