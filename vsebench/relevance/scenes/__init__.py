"""Truth of every caption of a split of scenes with every image: which facts hold, counted exactly.

```
 scenes.npy, facts.npy ─► Truth ─┬─► rows, pairs: F-score of facts       gains ``truth``
                                 ├─► all facts hold                      judgements ``entails``
                                 └─► ratings of some pairs, with errors  judgements ``judged``
```

- ``truth``: facts that hold, and their F-score, for rows of a direction and for pairs; of a split, from the data set on
  disk; ``load`` of the kind ``truth``
- ``ratings``: simulated ratings
- ``kernels``: the same as ``vsebench.scenes.facts.matched``, compiled
"""
