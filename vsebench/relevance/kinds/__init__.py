"""The kinds of gains: which there are, their settings, how they are specified and loaded.

A specification (``cider:own=out``, ``sentence:MODEL``, ``gains.npy``) and a split with its captions come in, ``Gains``
go out. Modules:

- ``declare``: ``GainsKind``, what a kind declares about itself
- ``settings``: what the settings mean
- ``table``: ``GAINS``, the one table of the kinds; ``parse_spec`` and ``load_gains``
- ``declarations``: of all kinds; each names the module that computes its gains, which is imported when gains are loaded

A new kind is a module with a ``GainsKind`` and a function ``load``, and one line in ``table``.
"""

from __future__ import annotations

from .declare import GainsKind
from .table import GAINS, LABELS, NAMED, is_gains, kind_of, load_gains, parse_spec

__all__ = ["GAINS", "LABELS", "NAMED", "GainsKind", "is_gains", "kind_of", "load_gains", "parse_spec"]
