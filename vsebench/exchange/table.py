"""``FORMATS``: the formats that reports are exported to, the one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from . import every_eval_ever, hub, mteb, trackers
from .exported import Exported

# Name -> the files of a report (path below the folder of the export -> content), and what reads them.
FORMATS: dict[str, tuple[Callable[[Exported], Mapping[str, bytes]], str]] = {
    "mteb": (mteb.files, "mteb.TaskResult.from_disk(FILE)"),
    "model-index": (hub.model_index, "huggingface_hub.metadata_update(MODEL, yaml.safe_load(TEXT))"),
    "eval-results": (hub.eval_results, "the Hugging Face Hub, in the repository of the model"),
    "every-eval-ever": (every_eval_ever.files, "the data store of Every Eval Ever"),
    "wandb": (trackers.wandb, "wandb sync FOLDER"),
    "mlflow": (trackers.mlflow, "mlflow migrate-filestore --source FOLDER --target sqlite:///mlflow.db"),
    "csv": (trackers.csv, "pandas.read_csv(FILE)"),
}
