"""Relevance of gallery items to queries: one table of sources of judgements and graded gains.

```
 TestSet       ──► Source.grades ──► Grades   judged pairs of both sides, and the positives at their level
 TestSet, Spec ──► Source.gains  ──► Gains    one number for every image-caption pair; gains of judgements are grades
```

- ``sources``: ``Source``, what one declares; ``SOURCES``, the table; ``register``; specifications such as
  ``cider:own=out``, and loading; ``declared``: those that come with vsebench
- ``gains``: ``Grades``, judgements as sparse matrices of pairs; ``Gains``, of which rows and pairs are computed on
  request
- ``custom``: judgements of the user
- ``cider``, ``spice``, ``wmd``, ``embedding`` (sentence encoders, bags of words): gains computed from captions
- ``matrix``: gains in a file, and the check of values computed elsewhere; ``coarse``: gains of two sources combined
- ``captioning``: METEOR, ROUGE-L and BLEU of given pairs, for the studies of human judgements
"""

from __future__ import annotations

# isort: off
from .. import plugins
from .sources import SOURCES, Source, is_gains, judgements, judgements_of, load, load_gains, parse_spec, register
from . import declared as declared  # after the table, which the modules of sources import from here

# isort: on
__all__ = [
    "SOURCES", "Source", "is_gains", "judgements", "judgements_of", "load", "load_gains", "parse_spec", "register",
]  # fmt: skip
plugins.load()
