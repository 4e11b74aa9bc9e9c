"""Per-query values of every metric, as parquet or CSV."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..errors import MissingPackage, UsageError
from .model import Report

SUFFIXES = (".parquet", ".csv", ".csv.gz")


def check_path(path: Path) -> Path:
    """``path`` if per-query values can be written there.

    Raises:
        UsageError: another suffix, or a folder that does not exist.
        MissingPackage: parquet without pyarrow.
    """
    if not path.name.endswith(SUFFIXES):
        raise UsageError(
            "per-query values are written as parquet or CSV",
            where=path,
            fix="end the name in .parquet or .csv",
        )
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise UsageError("cannot be written: no such folder", where=path, fix=f"create {path.parent} first")
    if path.suffix == ".parquet":
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise MissingPackage(
                "parquet needs pyarrow",
                where=path,
                fix="pip install 'vsebench[formats]', or end the name in .csv",
            ) from None
    return path


def write(report: Report, path: Path) -> None:
    """Write columns metric, direction, query, value to a path that ``check_path`` accepts, atomically.

    Queries that a metric leaves out have no row."""
    import pandas as pd

    from ..data.atomic import write_atomically

    held, queries, values = report.per_query()
    lengths = [len(r.per_query) for r in held if r.per_query is not None]

    def column(names: list[str]) -> Any:
        kinds = list(dict.fromkeys(names))
        return pd.Categorical.from_codes(np.repeat([kinds.index(x) for x in names], lengths), kinds)

    table = pd.DataFrame({
        "metric": column([str(r.metric) for r in held]),
        "direction": column([str(r.direction) for r in held]),
        "query": queries.astype(str),
        "value": values,
    })  # fmt: skip
    with write_atomically(path) as stream:
        if path.suffix == ".parquet":
            table.to_parquet(stream, index=False)
        else:
            table.to_csv(stream, index=False, compression="gzip" if path.suffix == ".gz" else None)
