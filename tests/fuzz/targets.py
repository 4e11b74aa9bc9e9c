"""The targets: one a reader, in one table."""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal
from unittest import mock

from tests.fuzz import loaders, seeds_arrays, seeds_text

Run = Callable[[bytes, Path], None]


@dataclass(frozen=True)
class Target:
    """One reader under test.

    Attributes:
        name: of the tests, and of the folder of its cases.
        run: gives an input to the reader, in an empty folder; raises ``contract.Broken``.
        seeds: valid inputs.
        content: how inputs are changed beside their bytes: ``binary``, ``text`` of lines and cells, ``json``, a
            ``bundle`` of files, or a ``name``.
        formats: the entries of ``FORMATS`` and ``FORMS`` that it reads.
        needs: packages without which it cannot run.
    """

    name: str
    run: Run
    seeds: Callable[[], list[bytes]]
    content: Literal["binary", "text", "json", "bundle", "name"]
    formats: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()

    @property
    def missing(self) -> str | None:
        """The first package that is needed and not installed."""
        return next((name for name in self.needs if find_spec(name) is None), None)

    def __call__(self, data: bytes) -> None:
        """Run an input in a folder and a cache of its own."""
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            given = Path(folder) / "given"
            given.mkdir()
            with mock.patch.dict(os.environ, VSEBENCH_CACHE=str(Path(folder) / "cache")):
                self.run(data, given)


def _arrays(name: str, load: Callable[..., None] = loaders.arrays) -> Run:
    return functools.partial(load, name=name)


TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        Target("npy", loaders.one_array, seeds_arrays.npy_files, "binary", ("npy",)),
        Target("npz", _arrays("e.npz"), seeds_arrays.npz_files, "binary", ("npz",)),
        Target("npz-members", _arrays("e.npz", loaders.members), seeds_arrays.npz_members, "bundle", ("npz",)),
        Target(
            "safetensors", _arrays("e.safetensors"), seeds_arrays.safetensors_files, "binary", ("safetensors",),
            ("safetensors", "torch"),
        ),
        Target("torch", _arrays("e.pt"), seeds_arrays.torch_files, "binary", ("torch",), ("torch",)),
        Target("torch-members", _arrays("e.pt", loaders.members), seeds_arrays.torch_members, "bundle",
               ("torch",), ("torch",)),
        Target("hdf5", loaders.hdf5, seeds_arrays.hdf5_files, "binary", ("hdf5",), ("h5py",)),
        Target("mat", _arrays("e.mat"), seeds_arrays.mat_files, "binary", ("mat",)),
        Target("jsonl", loaders.table, seeds_arrays.vector_lines, "json", ("jsonl",), ("pyarrow",)),
        Target("parquet", loaders.table, seeds_arrays.parquet_files, "binary", ("parquet",), ("pyarrow",)),
        Target("arrow", loaders.table, seeds_arrays.arrow_files, "binary", ("arrow",), ("pyarrow",)),
        Target(
            "clip-retrieval", loaders.clip_retrieval, seeds_arrays.clip_retrieval_folders, "bundle",
            ("clip-retrieval",), ("pyarrow",),
        ),
        Target("trec", loaders.runs, seeds_text.trec_runs, "text", ("trec",)),
        Target("eccv-json", loaders.runs, seeds_text.eccv_lists, "json", ("eccv-json",)),
        Target("rows", loaders.rows, seeds_arrays.rows_of_an_index, "binary", ("rows",)),
        Target("pairs", loaders.runs, seeds_text.tables_of_pairs, "text", ("table",)),
        Target("captions", loaders.captions, seeds_text.captions, "json"),
        Target("published-sets", loaders.published_sets, seeds_text.published_sets, "bundle"),
        Target("columns", loaders.columns, seeds_text.columns, "text"),
        Target("queries", loaders.queries, seeds_text.queries, "text"),
        Target("word-vectors", loaders.word_vectors, seeds_text.word_vectors, "text"),
        Target("frequencies", loaders.frequencies, seeds_arrays.corpora, "json"),
        Target("spice", loaders.spice, seeds_text.spice_tuples, "json"),
        Target("report", loaders.saved_report, seeds_text.saved_reports, "json"),
        Target("leaderboard", loaders.leaderboard, seeds_text.leaderboards, "bundle"),
        Target("run-folder", loaders.run_folder, seeds_text.run_folders, "bundle"),
        Target("flickr8k", loaders.flickr8k, seeds_text.flickr8k, "bundle"),
        Target("cxc", loaders.cxc, seeds_text.cxc, "bundle"),
        Target("precomputed", loaders.precomputed, seeds_arrays.precomputed_folders, "bundle", needs=("torch",)),
        Target("karpathy", loaders.karpathy, seeds_text.karpathy_files, "json", needs=("torch", "PIL")),
        Target("checkpoint", loaders.checkpoint, seeds_arrays.checkpoints, "binary", needs=("torch", "safetensors")),
        Target("configuration", loaders.configuration, seeds_text.configurations, "text", needs=("torch",)),
        Target("assignments", loaders.assignment, seeds_text.assignments, "name", needs=("torch",)),
        Target("metric-names", loaders.metric_name, seeds_text.metric_names, "name"),
        Target("gains-names", loaders.gains_specification, seeds_text.gains_specifications, "name"),
        Target("other-names", loaders.other_name, seeds_text.other_names, "name"),
    )
}  # fmt: skip
