"""Retrieval inside one modality, measured by continuous labels of the items (poses, masks, caption sets).

In: vectors of one modality, a distance of labels, and which items are queries. Out: a ``Report`` of nDCG and mean label
distance in the direction ``i2i`` or ``t2t``::

    vectors, labels: file or array -> files -> labels.read_labels -> LabelDistance
    queries -> queries.select -> Selection (queries and gallery)
    nearest.neighbours     the k nearest items of every query, in the order of float64 distances
    LabelDistance.bind     label distances of these items, and the smallest label distances of each query
    evaluate.list_values   nDCG and MLD of every query -> intervals -> Report

- ``evaluate``: the public function
- ``files``, ``queries``: reading arrays and ids; queries and gallery
- ``nearest``: exact nearest neighbours
- ``labels``: label distances by name; ``distances`` (Euclidean, given), ``masks`` (1 - mIoU), ``wmd`` (captions)
- ``kernels``: the compiled parts

Image-image and text-text retrieval with the binary judgements of CxC is part of ``vsebench.evaluate``.
"""
