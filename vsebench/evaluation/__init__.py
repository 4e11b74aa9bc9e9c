"""Evaluation: from files or arrays to a report; ``run`` is the complete procedure.

::

    request -> system (read, align) -> plan (metrics, judgements, gains) -> rank, re-rank -> binary, graded
        -> assemble -> Report

- ``run``: ``evaluate``, the public function; ``options``: its options, each declared once; ``request``: what they ask
  for, parsed once
- ``accumulate``: ``Accumulator``, which collects the vectors of a validation loop for ``evaluate``
- ``system``: what is ranked: vectors, a score matrix or retrieved lists in the order of a split (``inputs``), and what
  is done with them: fusion, ``only``, ``corrections``; ``misread``: refuses rows in another order and recall at
  chance
- ``plan``: metrics, judgements and candidates, decided once, with the gains and judgements that they need;
  ``short_lists``: what retrieved lists are long enough for
- ``second_stage``: the scores of a cross-encoder (read by ``inputs``) put the top of the rankings in another order
- ``indexed``: the lists of saved FAISS indexes, in the place of scores, and their recall against exact lists
- ``binary``: values from the ranks of relevant items, and hubness; ``graded``: values of graded metrics as
  results; ``intra``: image-image and text-text retrieval of CxC
- ``engines``: which processes compute, the workers of Dask, the work in pieces for them and what they have finished
- ``assemble``: sums, signature, provenance and the report, and intervals
"""
