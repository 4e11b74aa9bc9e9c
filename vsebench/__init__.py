"""vsebench: exact, complete evaluation of image-text retrieval.

``evaluate`` ranks and measures; ``load`` gives a declared split; the command line does both:
``vsebench eval embeddings.npz``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_PUBLIC = {
    "evaluate": "vsebench.evaluation.run",
    "evaluate_unimodal": "vsebench.unimodal.evaluate",
    "evaluate_file": "vsebench.evaluation.run",
    "load": "vsebench.data.splits.catalogue",
    "Split": "vsebench.types",
    "Embeddings": "vsebench.types",
    "Relevance": "vsebench.types",
    "Report": "vsebench.report.report",
    "metric": "vsebench.metrics",
    "parse": "vsebench.metrics",
    "VsebenchError": "vsebench.errors",
}

__all__ = ["__version__", *_PUBLIC]

if TYPE_CHECKING:
    from .data.splits.catalogue import load as load
    from .errors import VsebenchError as VsebenchError
    from .evaluation.run import evaluate as evaluate
    from .metrics import metric as metric
    from .metrics import parse as parse
    from .report.report import Report as Report
    from .types import Embeddings as Embeddings
    from .types import Relevance as Relevance
    from .types import Split as Split


def __getattr__(name: str) -> Any:
    # Imported on first use: `import vsebench` and `vsebench --help` must not wait for numpy and numba.
    if name in _PUBLIC:
        from importlib import import_module

        value = getattr(import_module(_PUBLIC[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'vsebench' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
