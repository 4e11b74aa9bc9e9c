"""Captions become tokens.

``tokenise.tokenise(captions, how)`` returns ``Tokens``: a flat array of word numbers, one list a caption.

- the tokenisers by name: ``tokenise``; the result, and warnings about captions that these cannot split:
  ``tokens``
- Penn Treebank tokens without Java: ``ptb``, by the rules in ``ptb_rules``
- the Java runtime for the original and for the parser of SPICE: ``java``
"""
