"""CIDEr-D and plain CIDEr of every caption with every image.

```
 captions ─► text.tokenise ─► ngrams (numbered, counted) ─► idf ─► features (weights, inverted index) ─► rows, pairs
                                           frequencies (of another corpus) ─┘
```

- ``cider``: ``load`` of the kind ``cider`` and the ``Gains``
- ``ngrams``, ``ngram_kernels``: n-grams as numbers, their counts and document frequencies
- ``frequencies``: document frequencies of another corpus, a file of captions
- ``features``, ``kernels``: weighted n-grams arranged for fast rows of captions, rows of images and single pairs

An inverted index lists, for every feature, the captions that contain it (its *postings*). Frequent features are added
as dense rows, the others posting by posting.
"""
