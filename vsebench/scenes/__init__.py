"""Scenes: a world of drawn shapes in which it is known which captions are true of which images.

A scene is drawn at random, then rendered, described by five captions, and turned into features of regions::

    settings (the name) ─► sample ─► Scene ─┬─► render ─► pixels
                                            ├─► regions ─► a vector an object
                                            └─► content ─► Facts ─► wording ─► caption
    facts: which facts of a caption hold in a scene

- ``world``: what a scene consists of; ``facts``: what a caption states, and how many of these facts hold
- ``settings``: the settings of a data set, which are its name
- ``draws``: random integers, the same on every machine; ``sample``: scenes drawn at random
- ``content``, ``wording``: what captions state, and in which words
- ``render``: images, from the stamps of ``shapes``; ``regions``: features of objects
- ``encode``: scenes and facts as rows of integers

Nothing here reads or writes files: ``vsebench.sets.scenes`` does. Which facts hold, for all pairs of a split, is in
``vsebench.relevance.scenes``.
"""
