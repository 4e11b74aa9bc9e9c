"""Results on the Hugging Face Hub, as YAML.

``model-index`` is part of the metadata of a model card (https://github.com/huggingface/hub-docs, modelcard.md);
``.eval_results/*.yaml`` gives one value a task of a benchmark (the same place, docs/hub/eval-results.md).
"""

from __future__ import annotations

import json
import re
from typing import Any

from ..errors import UsageError
from ..options import spell
from .exported import Exported, file_name, key_of, name_of

TASK = "image-text-retrieval"


def yaml(value: Any) -> str:
    """Plain values as JSON that is YAML 1.1 as well.

    There 1e-05 is a text, control characters are refused, and a pair of escapes is no character.
    """
    text = json.dumps(value, indent=2, ensure_ascii=False)
    text = re.sub("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]", lambda found: f"\\u{ord(found[0]):04x}", text)
    return re.sub(r'("(?:[^"\\]|\\.)*")|(?<![\d.])(\d)e', lambda found: found[1] or f"{found[2]}.0e", text) + "\n"


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
