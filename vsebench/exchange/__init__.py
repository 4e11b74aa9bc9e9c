"""Exchange of results: a saved report in the formats of other tools, as files; nothing is sent anywhere.

    report ──► export ──► the function of a format in FORMATS ──► {name of a file: bytes} ──► written atomically

- ``export``: the public call and ``FORMATS``; ``exported``: what a format reads of a report, and the
  metadata of a model card of the Hugging Face Hub
- ``mteb``: task results of MTEB
"""

from __future__ import annotations
