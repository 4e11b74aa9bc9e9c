"""Relevance of gallery items to queries: binary judgements and graded gains.

```
 Split ──► judgements.table: load(name, split, direction) ──► Relevance   positives of every query
 Split ──► kinds: load_gains("cider:own=out", split)      ──► Gains       one number for every image-caption pair
```

Judgements are loaded as index lists; ``Gains`` compute rows and pairs on request. Modules:

- ``judgements``: ``gt``, ``1k``, ``eccv``, ``cxc``; ``entails`` of scenes
- ``gains``: ``Gains``: what is known of them, and checks of the requested rows and pairs; ``Values`` compute them
- ``kinds``: the table of the kinds of gains, specifications such as ``cider:own=out``, loading
- ``cider``, ``spice``, ``wmd``, ``embedding`` (sentence encoders, bags of words): gains computed from captions
- ``scenes``: which captions are true of which scenes
- ``matrix``: gains in a file; ``coarse``: gains of two kinds combined
- ``captioning``: METEOR, ROUGE-L and BLEU of given pairs, for the studies of human judgements
- ``checks``: of values that were computed elsewhere
"""

from __future__ import annotations

from .judgements.table import COUNTS, JUDGEMENTS, load, sets_of

__all__ = ["COUNTS", "JUDGEMENTS", "load", "sets_of"]
