"""The torch back-end: ranking as tensor code, the same on a processor and on a CUDA device.

In and out are numpy arrays, as of the reference (``count.scan_tiles``, ``order.order``); scores and orders
stay on the device inside a call. Float32 products use the BLAS of the device, without TF32 or other reduced
precision, so that the error bounds of the reference hold. Near-ties are settled on the processor, as of the reference::

    scan.scan                      one pass over tiles of scores
      scan.PairCounter             candidates above each threshold
    order.order_of                 order of a block of queries

- ``settings``: the device, the precision of products, threads (``numeric.torch_support``: memory that is not enough)
- ``vectors``: vectors on the device and their products; given scores are counted and ordered by the reference

These modules import torch when they are loaded, and are themselves imported inside functions.
"""
