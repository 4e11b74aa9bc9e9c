"""Per-query values of every metric as one table, and its parquet or CSV file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import MissingPackage, UsageError, csv_cell, install
from .model import Measurement

SUFFIXES = (".parquet", ".csv", ".csv.gz")


def frame(results: Sequence[Measurement]) -> Any:
    """A ``pandas.DataFrame`` of metric, direction, query and value, one row a query of a metric.

    ``query`` is the id: int64 when all of them are integers, else text. Sums have no per-query values. Queries that a
    metric leaves out have no row.
    """
    import pandas as pd

    found = [(r, r.queries, r.per_query) for r in results if r.queries is not None and r.per_query is not None]
    lengths = [len(values) for _, _, values in found]
    # Images and captions share the column: their ids are numbers in it only if both are.
    kind: type = np.int64 if all(queries.dtype.kind == "i" for _, queries, _ in found) else np.str_

    ids = np.concatenate([np.empty(0, kind), *(queries.astype(kind) for _, queries, _ in found)])
    if kind is np.str_ and any("\ud800" <= c <= "\udfff" for c in "".join(np.unique(ids).tolist())):
        # halves of a surrogate pair, as in the name of a file in no encoding, which no table can have
        ids = np.array([name.encode("utf-8", "backslashreplace").decode() for name in ids.tolist()])

    def column(names: list[str]) -> Any:
        kinds = list(dict.fromkeys(names))
        return pd.Categorical.from_codes(np.repeat([kinds.index(x) for x in names], lengths).astype(int), kinds)

    return pd.DataFrame({
        "metric": column([str(r.metric) for r, _, _ in found]),
        "direction": column([str(r.direction) for r, _, _ in found]),
        "query": ids,
        "value": np.concatenate([np.empty(0), *(values for _, _, values in found)]),
    })  # fmt: skip


def check_path(path: Path) -> Path:
    """``path`` if per-query values can be written there.

    Raises:
        UsageError: another suffix, or a folder that does not exist.
        MissingPackage: parquet without pyarrow.
    """
    if not path.name.endswith(SUFFIXES):
        what = "per-query values are written as parquet or CSV"
        raise UsageError(what, where=path, fix="end the name in .parquet or .csv")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise UsageError("cannot be written: no such folder", where=path, fix=f"create {path.parent} first")
    if path.suffix == ".parquet":
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            fix = f"{install('formats')}, or end the name in .csv"
            raise MissingPackage("parquet needs pyarrow", where=path, fix=fix) from None
    return path


def write(values: Any, path: Path) -> None:
    """Write the frame of ``frame`` (``report.per_query()``) to a path that ``check_path`` accepts, atomically."""
    from ..files.atomic import write_atomically

    with write_atomically(path) as stream:
        if path.suffix == ".parquet":
            values.to_parquet(stream, index=False)
        else:
            if values["query"].dtype != np.int64:
                cells = {name: csv_cell(name) for name in values["query"].unique()}
                values = values.assign(query=values["query"].map(cells))
            values.to_csv(stream, index=False, compression="gzip" if path.suffix == ".gz" else None)
