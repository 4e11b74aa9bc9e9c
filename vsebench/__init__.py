"""vsebench: exact, complete evaluation of image-text retrieval.

- ``evaluate`` ranks and measures vectors, score matrices and retrieved lists; ``evaluate_unimodal`` measures retrieval
  inside one modality, judged by continuous labels
- ``Accumulator`` collects the vectors of a validation loop and evaluates them
- ``encode`` encodes images and their captions with a pretrained model, ``encode_all`` several sets with several
- ``load`` reads a saved report; ``compare``, ``agree`` and ``slice`` analyse reports, ``page`` shows them on a
  page, ``export`` writes them for other tools; ``correlate`` compares relevances with human judgements
- ``choice`` measures how often the right caption of an image is chosen (SugarCrepe, VALSE, ARO, Winoground)
- ``load_split`` gives a declared split; ``build_scenes`` generates images and captions with complete ground truth, and
  ``open_scenes`` reads them
- ``metric`` declares a metric, ``parse`` reads a metric's name; ``tokenise`` splits captions into words

The command line (``vsebench eval embeddings.npz``) calls nothing else. The packages, from the bottom up (one imports
those before it); each describes itself in its docstring:

- ``numeric``: threads, sorting and the compiler
- ``files``: arrays, pairs and captions from files; ``stats``: intervals and tests
- ``sets``: test sets, and rows in the order of a split
- ``text``: tokenisers
- ``relevance``: judgements and gains
- ``metrics``: formulas and names; ``rank``: ranks, top lists and complete orders; ``results``: tables in every format
- ``graded``: graded metrics from rankings; ``human``: agreement of gains with judgements of people
- ``evaluation``: from input to report
- ``scenes``: synthetic images and captions with complete ground truth, registered as a plug-in
- ``unimodal``: retrieval inside a modality; ``analysis``: of saved reports; ``pretrained``: encoders by name
- ``exchange``: reports in the formats of other tools
- ``cli``: the command line
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_PUBLIC = {
    "evaluate": "vsebench.evaluation.run",
    "evaluate_unimodal": "vsebench.unimodal.evaluate",
    "Accumulator": "vsebench.evaluation.accumulate",
    "encode": "vsebench.pretrained.encode",
    "encode_all": "vsebench.pretrained.several",
    "load": "vsebench.analysis.systems",
    "compare": "vsebench.analysis.compare",
    "agree": "vsebench.analysis.agree",
    "slice": "vsebench.analysis.slices",
    "choice": "vsebench.analysis.choice",
    "page": "vsebench.analysis.page",
    "export": "vsebench.exchange.export",
    "correlate": "vsebench.human.study",
    "describe": "vsebench.analysis.describe",
    "load_split": "vsebench.sets.catalogue",
    "build_scenes": "vsebench.scenes.build",
    "open_scenes": "vsebench.scenes.store",
    "metric": "vsebench.metrics",
    "metric_sum": "vsebench.metrics",
    "parse": "vsebench.metrics",
    "Metric": "vsebench.metrics",
    "tokenise": "vsebench.text.ptb",
    "Report": "vsebench.results.report",
    "Result": "vsebench.results.render",
    "TestSet": "vsebench.types",
    "Side": "vsebench.types",
    "Embeddings": "vsebench.types",
    "VsebenchError": "vsebench.errors",
    "VsebenchWarning": "vsebench.errors",
}

__all__ = ["__version__", *_PUBLIC]

if TYPE_CHECKING:
    from .analysis.agree import agree as agree
    from .analysis.choice import choice as choice
    from .analysis.compare import compare as compare
    from .analysis.describe import describe as describe
    from .analysis.page import page as page
    from .analysis.slices import slice as slice
    from .analysis.systems import load as load
    from .errors import VsebenchError as VsebenchError
    from .errors import VsebenchWarning as VsebenchWarning
    from .evaluation.accumulate import Accumulator as Accumulator
    from .evaluation.run import evaluate as evaluate
    from .exchange.export import export as export
    from .human.study import correlate as correlate
    from .metrics import Metric as Metric
    from .metrics import metric as metric
    from .metrics import metric_sum as metric_sum
    from .metrics import parse as parse
    from .pretrained.encode import encode as encode
    from .pretrained.several import encode_all as encode_all
    from .results.render import Result as Result
    from .results.report import Report as Report
    from .scenes.build import build_scenes as build_scenes
    from .scenes.store import open_scenes as open_scenes
    from .sets.catalogue import load_split as load_split
    from .text.ptb import tokenise as tokenise
    from .types import Embeddings as Embeddings
    from .types import Side as Side
    from .types import TestSet as TestSet
    from .unimodal.evaluate import evaluate_unimodal as evaluate_unimodal


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
