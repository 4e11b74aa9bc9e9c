"""What the formats read of a report: its results, and what a report does not know of its model and data."""

from __future__ import annotations

import datetime
import json
import re
from dataclasses import dataclass
from typing import Any

from ..results.report import Report


@dataclass(frozen=True)
class Exported:
    """A report with the facts that other formats ask for.

    Attributes:
        reports: without per-query values being used; several languages of one test set for ``mteb``, else one.
        model: its name, as ``ORG/NAME`` where it is on a hub.
        dataset: the id of the test data on the Hugging Face Hub; empty if it is not known.
        url: of logs, code or a paper; empty for none.
        evaluator: who evaluated; empty if it is not known.
    """

    reports: tuple[Report, ...]
    model: str
    dataset: str = ""
    url: str = ""
    evaluator: str = ""

    @property
    def report(self) -> Report:
        """The first report."""
        return self.reports[0]

    @property
    def started(self) -> datetime.datetime:
        """When the evaluation began, in UTC; 1970-01-01 for reports that do not say it, so that files do not change."""
        try:
            found = datetime.datetime.fromisoformat(str(self.report.provenance.get("started")))
        except ValueError:
            return datetime.datetime.fromtimestamp(0, datetime.timezone.utc)
        return found if found.tzinfo else found.replace(tzinfo=datetime.timezone.utc)


def file_name(text: str) -> str:
    """A text as the name of a file or folder: letters, digits, ``.``, ``_`` and ``-``; never ``..`` or empty."""
    return re.sub(r"[^\w.-]+", "-", text).strip(".-") or "model"


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
