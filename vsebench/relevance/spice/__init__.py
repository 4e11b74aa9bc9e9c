"""SPICE of every caption with every image, from scene-graph tuples that are parsed once with Java.

```
 captions ─► build (Java, hours for a data set) ─► cache ─► Tuples                                           once
 Tuples ─► encode (integers, merged graphs) ─► spice (which images match a tuple) ─► Gains     seconds, no Java
```

- ``spice``: ``load`` of the kind ``spice``; matching the tuples of captions and images, counts by sparse products
- ``file``: ``Tuples`` of captions; their files, and the cache, which is one that grows
- ``encode``: tuples as integers, merging graphs, similar concepts; ``kernels``: merging, compiled
- ``build``: running the official parser; ``worker``: the process in which it runs
"""
