"""Scenes: drawn shapes with captions; which caption is true of which image is known. A plug-in.

A scene is drawn at random, then rendered, described by five captions, and turned into features of regions::

    settings (the name) ─► sample ─► Scene ─┬─► render ─► pixels
                                            ├─► regions ─► a vector an object
                                            └─► content ─► Facts ─► wording ─► caption
    facts: which facts of a caption hold in a scene

- ``world``: what a scene consists of; ``facts``: what a caption states, and how many of these facts hold
- ``settings``: the settings of a data set, which are its name
- ``sample``: scenes drawn at random, the same on every machine
- ``content``, ``wording``: what captions state, and in which words
- ``render``: images, from the stamps of ``shapes``; ``regions``: features of objects

A data set is a folder of the cache, ``scenes/NAME``, and three splits, one a part, which every command knows::

    settings ─► build ─► .NAME.partial/ ─► NAME/ ─► splits/NAME-train.npz, -val, -test

- ``folder``: the files of a data set, with scenes and facts as rows of integers, and what is said when they are
  missing, damaged or outdated; ``coco``: files in the COCO layout
- ``build``: building; ``store``: ``open_scenes``, the arrays in memory maps, and lines of JSON

What is true, for all pairs of a split::

    Split ─► truth (facts that hold, by kernels) ─┬─► entails: judgements
                                                  └─► shares: gains, holds and match

- ``sets``: the data sets as a source of test sets; ``plugin`` registers it with the judgements and the gains
"""
