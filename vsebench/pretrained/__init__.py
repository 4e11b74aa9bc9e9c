"""Encoding of images and captions with published models: from a folder of images to a file for ``vsebench eval``.

::

    captions, split ──► ids, strings ──┐
    folder of images ──► files ────────┼──► batches ──► an encoder ──► vectors with ids ──► .npz
    name of a model ──► names ─────────┘          (parts are kept until the end)

- ``names``: which model is meant: ``open_clip:NAME/WEIGHTS``, ``sentence-transformers:NAME``, a folder
- ``openclip``, ``sentence``: loading it
- ``encoder``: the interface of encoders, and the identity of their weights; ``device``: CPU and GPUs
- ``encode``: the public function, its result and file; ``parts``: finished parts of an interrupted call
"""
