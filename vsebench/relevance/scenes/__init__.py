"""What captions of scenes say of every image: which facts hold, counted exactly.

```
 scenes.npy, facts.npy ─► Truth ─┬─► share of the caption's facts        gains ``holds``
                                 ├─► F-score with the facts of the scene gains ``match``
                                 └─► all facts hold                      judgements ``entails``
```

- ``truth``: the facts that hold, for rows of a direction and for pairs; of a split, from the data set on disk
- ``shares``: the gains ``holds`` and ``match``, made of their number
- ``kernels``: the same as ``vsebench.scenes.facts.matched``, compiled
"""
