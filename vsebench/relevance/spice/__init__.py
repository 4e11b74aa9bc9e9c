"""SPICE of every caption with every image, from scene-graph tuples that are parsed once with Java.

```
 captions ─► parser.build (Java, hours for a data set) ─► cache ─► Tuples                  once
 Tuples ─► encode (integers, merged graphs) ─► postings (which images match a tuple) ─► Gains     seconds, no Java
```

- ``spice``: ``load`` of the kind ``spice`` and the ``Gains``
- ``cache``: tuples in the user cache, one file that grows; export and import
- ``file``: ``Tuples`` of captions, the error that captions are not parsed, the file format, and rows of another file
- ``encode``: tuples as integers, merging graphs, similar concepts
- ``postings``: matching the tuples of captions and images, counts by sparse products; saved in the cache
- ``kernels``: merging graphs, compiled
- ``parser``: running the official parser
"""
