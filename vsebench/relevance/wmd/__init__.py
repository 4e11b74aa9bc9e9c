"""Word mover's distance between captions and sets of captions.

```
 captions + word vectors ─► embedding.bow (bags of words) ─► transport (exact distances, lower bounds) ─► Gains
```

- ``word_mover``: ``load`` of the kind ``wmd``: 1 / (1 + W) of an image and a caption
- ``transport``: distances of two captions; also used by ``unimodal`` for distances of images
- ``kernels``: the compiled parts
"""
