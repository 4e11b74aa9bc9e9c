"""Word mover's distance between captions and sets of captions.

```
 captions + word vectors ─► embedding.bow (bags of words) ─► word_mover (exact distances, lower bounds) ─► Gains
```

- ``word_mover``: ``load`` of the kind ``wmd``: 1 / (1 + W) of an image and a caption; distances of two captions, which
  ``unimodal`` uses for distances of images
- ``kernels``: the compiled parts
"""
