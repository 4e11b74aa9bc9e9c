"""Graded metrics: one value a query from the order of its gallery and the gains of the candidates.

In: a system (or retrieved lists), rankings of metrics and the gains of every view. Out: ``engine.Found``, the per-query
values of every metric, with the rows and with the columns as queries::

    engine.run(system or lists, rankings, gains)
      rankings.plan -> Ranking    queries, gallery and metrics: all or first captions, complete split or folds
      engine.blocks               blocks of queries of rankings that share their gains
        rank.order.order          canonical order of a block of queries
        engine.measure            gains in this order, ideal gains, pseudo-positives -> metrics.values
          influence.measure       the same without one image, for intervals -> Out

Exactness: items are ordered by canonical float64 scores, ties to the lower index (see ``rank``). A block takes
its gains, order and values from its own queries only, so block size and threads do not change a value.
Gains are computed once a block and view: complete rows, or single pairs where few candidates are read.

- ``rankings``: which rankings the metrics need
- ``engine``: scores in blocks of queries, in threads or in parts for other processes, or retrieved lists, to values
- ``influence``: the gains of a block; what every image adds, as a candidate, to the values of other queries
"""
