"""The torch back-end: ranking as tensor code, the same on a processor and on a CUDA device.

In and out are numpy arrays, as of the reference (``count.scan_tiles``, ``order.order``); scores and orders
stay on the device inside a call. Float32 products are those of the BLAS of the device, without TF32 or other reduced
precision, so that the error bounds of the reference hold; near-ties are compared by canonical scores, which are
summed in the fixed order of ``kernels.dot64`` and have its bits::

    scan.scan                      one pass over tiles of scores
      count.PairCounter            candidates above each threshold, near-ties compared
      top.TopLists                 candidates for the top k, merged from tile to tile
    order.order_of                 order of a block of queries
    vectors.pair_scores            canonical scores of single pairs

- ``settings``: the device, the precision of products, threads (``numeric.torch_support``: memory that is not enough)
- ``vectors``: vectors on the device, products of them, canonical scores

These modules import torch when they are loaded, and are themselves imported inside functions.
"""
