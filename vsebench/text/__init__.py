"""Captions become tokens.

``ptb.tokenise(captions, how)`` returns ``Tokens``: a flat array of word numbers, one list a caption.

- the tokenisers by name, and Penn Treebank tokens without Java: ``ptb``
- the result, and warnings about captions that these cannot split: ``tokens``
- the Java runtime for the original and for the parser of SPICE: ``java``
"""
