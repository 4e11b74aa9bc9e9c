"""Retrieval inside one modality, measured by continuous labels of the items (poses, masks, caption sets).

In: vectors of one modality, a distance of labels, and which items are queries. Out: a ``Report`` of nDCG and mean label
distance in the direction ``i2i`` or ``t2t``::

    vectors, labels: file or array -> files -> labels.read_labels -> LabelDistance
    queries -> queries.select -> Selection (queries and gallery)
    for a block of queries (evaluate.list_values):
      scorers.nearest      the k nearest items of every query, in the order of float64 distances (``rank.order``)
      LabelDistance.measure     label distances of these items, and the smallest label distances of each query
      metrics.values       nDCG and MLD
    -> intervals -> Report

- ``evaluate``: the public function
- ``files``, ``queries``: reading arrays and ids; queries and gallery
- ``scorers``: what orders the items, and the nearest of a query
- ``labels``: label distances by name; ``distances`` (Euclidean, given), ``masks`` (1 - mIoU), ``wmd`` (captions)
- ``kernels``: the compiled parts

Image-image and text-text retrieval with the binary judgements of CxC is part of ``vsebench.evaluate``.
"""
