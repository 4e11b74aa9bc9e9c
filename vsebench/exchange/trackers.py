"""Trackers of experiments: MLflow's file store, an offline run of Weights & Biases, and CSV for all others."""

from __future__ import annotations

import csv as writer
import hashlib
import importlib.util
import io
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from ..errors import MissingPackage, csv_cell
from .exported import Exported, file_name
from .hub import yaml


def mlflow(exported: Exported) -> dict[str, bytes]:
    """``mlruns/EXPERIMENT/RUN/``: a finished run with its metrics, in the experiment of the test set.

    MLflow reads the folder (``mlflow migrate-filestore``, or ``MLFLOW_TRACKING_URI=mlruns`` where its version allows
    it). Names of its metrics have no ``@``, brackets or ``=``: ``R@1`` is ``R_at_1``, others are underscores.
    """
    report, at = exported.report, int(1000 * exported.started.timestamp())
    experiment = str(10**17 + int(hashlib.sha256(report.split.encode()).hexdigest(), 16) % 10**17)
    text = repr((exported.model, report.signature, exported.values, at))
    run = hashlib.sha256(text.encode()).hexdigest()[:32]
    about = {"lifecycle_stage": "active", "experiment_id": experiment}
    timed = {"creation_time": at, "last_update_time": at}
    info = {
        "artifact_uri": "", "end_time": at, "entry_point_name": "", "run_id": run, "run_name": exported.model,
        "run_uuid": run, "source_name": "", "source_type": 4, "source_version": "", "start_time": at, "status": 3,
        "tags": [], "user_id": exported.evaluator or "unknown",
    }  # fmt: skip
    tags = {"mlflow.runName": exported.model, "signature": report.signature, "split": report.split}
    tags |= {"url": exported.url} if exported.url else {}
    own = {"meta.yaml": yaml(about | info), "params/split": report.split, "params/vsebench": exported.version}
    own["artifacts/report.json"] = report.to_json(per_query=False)  # without artifacts it is no run for MLflow
    own |= {f"tags/{key}": value for key, value in tags.items()}
    own |= {f"metrics/{mlflow_name(key)}": f"{at} {value!r} 0\n" for key, value in exported.values.items()}
    top = f"mlruns/{experiment}"
    head = {"artifact_location": "", "name": f"vsebench {report.split}"}
    found = {f"{top}/meta.yaml": yaml(about | head | timed)}
    found |= {f"{top}/{run}/{name}": content for name, content in own.items()}
    return {name: content.encode() for name, content in found.items()}


def mlflow_name(key: str) -> str:
    """The name of a metric as MLflow allows it: ``i2t_R@1`` is ``i2t_R_at_1``."""
    return re.sub(r"[^\w.\- ]", "_", key.replace("@", "_at_"))


# In a process of its own: a run of the caller goes on, and the files are complete only when wandb's service has ended.
_OFFLINE = """
import json, sys, wandb
given = json.load(sys.stdin)
off = {"silent": True, "console": "off", "disable_git": True, "disable_code": True, "x_save_requirements": False}
run = wandb.init(mode="offline", project="vsebench", settings=wandb.Settings(**off), **given["run"])
run.log(given["values"])
run.finish()
wandb.teardown()
"""


def wandb(exported: Exported) -> dict[str, bytes]:
    """``wandb/offline-run-.../``: a finished run, written by the package itself in its offline mode.

    The format of these files is no public one, so the package is needed; it opens no connection.

    Raises:
        MissingPackage: wandb is not installed, or it ends with an error.
    """
    if importlib.util.find_spec("wandb") is None:
        raise MissingPackage("an offline run is written by the package wandb", fix="pip install wandb")
    report = exported.report
    config = {"model": exported.model, "split": report.split, "signature": report.signature, "url": exported.url}
    with tempfile.TemporaryDirectory() as folder:
        given = {"run": {"name": exported.model, "config": config, "dir": folder}, "values": exported.values}
        command = [sys.executable, "-c", _OFFLINE]
        done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, cwd=folder)
        if done.returncode:
            said = (done.stderr.strip().splitlines() or ["nothing"])[-1]
            raise MissingPackage(
                f"wandb could not write an offline run, and says: {said:.200}", fix="pip install -U wandb"
            )
        files = [p for p in Path(folder).rglob("*") if p.is_file() and not p.is_symlink() and p.suffix != ".log"]
        return {p.relative_to(folder).as_posix(): p.read_bytes() for p in files}


def csv(exported: Exported) -> dict[str, bytes]:
    """``ORG__NAME-SPLIT.csv``: the rows of ``vsebench eval --format csv``, after the model and the test set."""
    rows = [{"model": exported.model, "split": exported.report.split, **one} for one in exported.report.records()]
    stream = io.StringIO()
    table = writer.DictWriter(stream, list(rows[0]), lineterminator="\n")
    table.writeheader()
    table.writerows({key: csv_cell(value) for key, value in row.items()} for row in rows)
    name = file_name(f"{exported.model.replace('/', '__')}-{exported.report.split}")
    return {f"{name}.csv": stream.getvalue().encode()}
