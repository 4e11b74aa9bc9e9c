"""Gains from vectors of captions: sentence encoders and bags of words.

```
 captions ─► encoders (a model, kept in the cache) ──┐
 captions ─► word_vectors ─► bow (sums of words) ────┼─► one vector a caption ─► aggregate ─► Gains
 a file of caption vectors ──────────────────────────┘
```

- ``sentence``: ``load`` of the kind ``sentence``
- ``encoders``: finding a sentence-transformers model, its vectors of captions, the cache
- ``bow``: ``load`` of the kind ``bow``; bags of words, also the input of ``wmd``
- ``word_vectors``: reading GloVe and word2vec text files
- ``aggregate``: cosines of captions aggregated over the captions of an image
"""
