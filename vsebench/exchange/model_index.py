"""``model-index``: part of the metadata of a model card (https://github.com/huggingface/hub-docs, modelcard.md)."""

from __future__ import annotations

import json
import re
from typing import Any

from .exported import Exported

TASK = "image-text-retrieval"


def yaml(value: Any) -> str:
    """Plain values as JSON that is YAML 1.1 as well.

    There 1e-05 is a text, control characters are refused, and a pair of escapes is no character.
    """
    text = json.dumps(value, indent=2, ensure_ascii=False)
    text = re.sub("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]", lambda found: f"\\u{ord(found[0]):04x}", text)
    return re.sub(r'("(?:[^"\\]|\\.)*")|(?<![\d.])(\d)e', lambda found: found[1] or f"{found[2]}.0e", text) + "\n"


def files(exported: Exported) -> dict[str, bytes]:
    """``model-index.yaml``: all results of the test set, as fractions, with intervals and the signature."""
    report = exported.report
    metrics = []
    for result in report.results:
        facts = {"direction": result.direction, "interval": result.interval and [float(x) for x in result.interval]}
        args: dict[str, Any] = {key: value for key, value in facts.items() if value is not None}
        args |= {"queries": result.n, "signature": report.signature}
        name = f"{result.metric} {result.direction}" if result.direction else str(result.metric)
        metrics.append({"type": str(result.metric), "value": float(result.value), "name": name, "args": args})
    one: dict[str, Any] = {
        "task": {"type": TASK, "name": "Image-text retrieval"},
        "dataset": {"type": exported.dataset or report.split, "name": report.split},
        "metrics": metrics,
    }
    one |= {"source": {"name": exported.evaluator or "vsebench", "url": exported.url}} if exported.url else {}
    document = {"model-index": [{"name": exported.model.rpartition("/")[2], "results": [one]}]}
    return {"model-index.yaml": yaml(document).encode()}
