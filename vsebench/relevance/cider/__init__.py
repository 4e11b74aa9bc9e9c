"""CIDEr-D and plain CIDEr of every caption with every image.

```
 captions ─► text.ptb ─► n-grams (numbered, counted) ─► idf ─► features (weights, inverted index) ─► rows, pairs
                                           corpus_df (of another corpus) ─┘
```

- ``cider``: ``load`` of the kind ``cider`` and the ``Gains``; document frequencies of a file of captions
- ``cider.Features``, ``kernels``: n-grams, weighted and arranged for fast rows of captions and of images, and pairs

An inverted index lists, for every feature, the captions that contain it (its *postings*). Frequent features are added
as dense rows, the others posting by posting.
"""
