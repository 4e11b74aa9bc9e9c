"""Data sets of scenes on disk: built, opened, exported.

A data set is a folder of the cache, ``scenes/NAME``, and three splits, one a part, which every command knows::

    settings ─► vsebench.scenes ─► .NAME.partial/ ─► NAME/ ─► splits/NAME-train.npz, -val, -test

- ``folder``: the files of a data set, ``about.json``, and what is said when they are missing, damaged or outdated
- ``records``: scenes and captions as lines of JSON
- ``build``: building; ``store``: ``open_scenes``, the arrays in memory maps
- ``known``: the data sets and splits, for ``sets.catalogue``; ``coco``: files as those of COCO
"""
