"""Statistics over images, on arrays of per-query values: intervals, paired tests, corrections and agreement.

- ``columns``: per-query values with the image of every query, and their means under weights of the images
- ``bootstrap``: resamples of the images; percentile and bias-corrected accelerated intervals
- ``paired``: permutation tests and effect sizes of two systems; p-values of many tests
- ``rank_agreement``: Kendall's tau between metrics, and how far they disagree about a query
- ``kernels``: random draws (numba)

An image is the unit of every draw, with all queries that belong to it::

    values (query,), image (query,) ──► Column ──► prepare ──► evaluate under (block, image) weights ──► (block, column)
"""
