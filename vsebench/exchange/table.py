"""``FORMATS``: the formats that reports are exported to, the one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from . import every_eval_ever, hub, mteb, trackers
from .exported import Exported


@dataclass(frozen=True)
class Format:
    """A format of another tool.

    Attributes:
        title: what it is.
        read_by: what reads the files, as its documentation says.
        files: the files of a report: path below the folder of the export -> content.
    """

    title: str
    read_by: str
    files: Callable[[Exported], Mapping[str, bytes]]


FORMATS: dict[str, Format] = {
    "mteb": Format(
        "task results of MTEB, one file a direction", "mteb.TaskResult.from_disk(FILE), the folder of results",
        mteb.files,
    ),
    "model-index": Format(
        "the model-index of a model card", "huggingface_hub.metadata_update(MODEL, yaml.safe_load(FILE))",
        hub.model_index,
    ),
    "eval-results": Format(
        "a file of .eval_results", "the Hugging Face Hub, in the repository of the model", hub.eval_results
    ),
    "every-eval-ever": Format(
        "a record of Every Eval Ever, schema 0.3.0", "its data store: python -m every_eval_ever validate FILE",
        every_eval_ever.files,
    ),
    "wandb": Format("an offline run of Weights & Biases", "wandb sync FOLDER", trackers.wandb),
    "mlflow": Format(
        "a run in MLflow's file store", "mlflow migrate-filestore --source FOLDER --target sqlite:///mlflow.db",
        trackers.mlflow,
    ),
    "csv": Format("a table, one row a number", "pandas.read_csv(FILE)", trackers.csv),
}  # fmt: skip
