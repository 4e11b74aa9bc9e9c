"""Gains from vectors of captions: sentence encoders and bags of words.

```
 captions ─► sentence (a model, kept in the cache; or a file) ──┐
 captions ─► bow (sums of word vectors) ────────────────────────┴─► one vector a caption ─► aggregate ─► Gains
```

- ``sentence``: ``load`` of the kind ``sentence``; finding a sentence-transformers model, its vectors of captions
- ``bow``: ``load`` of the kind ``bow``; bags of words, also the input of ``wmd``; reading word vectors
- ``aggregate``: cosines of captions aggregated over the captions of an image
"""
