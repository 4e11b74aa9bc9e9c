"""A record of Every Eval Ever, schema 0.3.0 (https://github.com/evaleval/every_eval_ever, eval.schema.json)."""

from __future__ import annotations

import hashlib
import math
import uuid
from typing import Any

from ..metrics import Metric, parse
from ..report.model import Result
from ..report.render import json_text
from .exported import Exported, file_name, key_of, name_of

SCHEMA = "0.3.0"
UNITS = {"fraction": "proportion", "rank": "rank", "distance": "points", "number": "number"}


def files(exported: Exported) -> dict[str, bytes]:
    """``data/vsebench-SPLIT/DEVELOPER/MODEL/UUID.json``: all results.

    The same report gives the same file: its UUID is made of its content, and the record is dated as the evaluation.
    """
    report = exported.report
    developer, _, name = exported.model.rpartition("/")
    at = str(int(exported.started.timestamp()))
    record = {
        "schema_version": SCHEMA,
        "evaluation_id": f"vsebench-{report.split}/{exported.model}/{at}",
        "evaluation_timestamp": at,
        "retrieved_timestamp": at,
        "source_metadata": {
            "source_name": "vsebench",
            "source_type": "evaluation_run",
            "source_organization_name": exported.evaluator or "unknown",
            **({"source_organization_url": exported.url} if exported.url else {}),
            "evaluator_relationship": "other",
        },
        "eval_library": {
            "name": "vsebench",
            "version": exported.version,
            "additional_details": {"signature": report.signature},
        },
        "model_info": {
            "name": name,
            "id": exported.model,
            **({"developer": developer} if developer else {}),
            "additional_details": {"deployment_type": "unknown", "model_availability": "unknown"},
        },
        "evaluation_results": [_result(exported, result) for result in report.results],
    }
    data = f"{json_text(record)}\n".encode()
    ident = uuid.UUID(bytes=hashlib.sha256(data).digest()[:16], version=4)
    folder = f"data/{file_name(f'vsebench-{report.split}')}/{file_name(developer or 'unknown')}/{file_name(name)}"
    return {f"{folder}/{ident}.json": data}


def _result(exported: Exported, result: Result) -> dict[str, Any]:
    metric = result.metric if isinstance(result.metric, Metric) else parse(str(result.metric))
    source = (
        {"source_type": "hf_dataset", "hf_repo": exported.dataset} if exported.dataset else {"source_type": "other"}
    )
    return {
        "evaluation_result_id": key_of(result),
        "evaluation_name": f"{exported.report.split} {name_of(result)}",
        "source_data": {"dataset_name": exported.report.split, **source},
        "metric_config": {
            "evaluation_description": metric.family.formula,
            "metric_id": f"vsebench.{metric}",
            "metric_name": name_of(result),
            "metric_unit": UNITS[result.unit],
            **({} if metric.k is None else {"metric_parameters": {"k": metric.k}}),
            "lower_is_better": not result.higher_is_better,
            "score_type": "continuous",
            "min_score": _bound(metric.family.low),
            "max_score": _bound(math.inf if metric.family.high is None else metric.family.high),
        },
        "score_details": {
            "score": float(result.value),
            "details": {"queries": str(result.n), "undefined": str(result.undefined)},
            **_uncertainty(exported, result),
        },
    }


def _bound(end: float) -> float | str:
    """An end of the range of a metric; the schema has words for those without bound."""
    return end if math.isfinite(end) else "Infinity" if end > 0 else "-Infinity"


def _uncertainty(exported: Exported, result: Result) -> dict[str, Any]:
    """The interval of a result, made by resampling the images."""
    how = exported.report.intervals
    if result.interval is None or how is None:
        return {}
    low, high = map(float, result.interval)
    interval = {"lower": low, "upper": high, "confidence_level": how.level / 100, "method": f"{how.method} bootstrap"}
    return {"uncertainty": {"confidence_interval": interval, "num_bootstrap_samples": how.resamples}}
