"""Exchange of results: a saved report in the formats of other tools, as files; nothing is sent anywhere.

    report ──► export ──► the function of a format in FORMATS ──► {name of a file: bytes} ──► written atomically

- ``export``: the public call, and what a format sees of a report (``Exported``)
- ``table``: ``FORMATS``, the one table
- ``hub``: the Hugging Face Hub: ``model-index`` of a model card, and files of ``.eval_results``
- ``mteb``: task results of MTEB, written and read; ``every_eval_ever``: records of Every Eval Ever
- ``trackers``: MLflow's file store, an offline run of Weights & Biases, CSV
"""

from __future__ import annotations
