"""Test sets: which images and captions they hold, in which order, and which caption belongs to which image.

``catalogue`` is the public part: ``names``, ``declared``, ``load``, ``build``, ``status`` and ``verify``.

A source becomes caption rows, the rows are proven to be a declared split, and a built split is kept in the cache::

    file or package -> sources -> CaptionRows -> identity.settle -> stored (cache) -> catalogue.load_split -> Split

- the declared splits, as data: ``declared``; ids, fingerprints and canonical order: ``identity``
- the sources, as tables: ``sources``; readers: ``annotations`` (official COCO), ``karpathy``, ``jsonl``, ``packages``
- caption rows, to which every source is converted: ``rows``; the cached form: ``stored``
- embeddings made from the captions of a split, for a demonstration without a model: ``synthetic``
"""
