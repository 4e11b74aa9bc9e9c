"""What the formats read of a report: its results, and what a report does not know of its model and data."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass

from ..results.report import Report


@dataclass(frozen=True)
class Exported:
    """A report with the facts that other formats ask for.

    Attributes:
        reports: without per-query values being used; several languages of one test set for ``mteb``, else one.
        model: its name, as ``ORG/NAME`` where it is on a hub.
        dataset: the id of the test data on the Hugging Face Hub; empty where it is not known.
        url: of logs, code or a paper; empty for none.
        evaluator: who evaluated; empty where it is not known.
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
