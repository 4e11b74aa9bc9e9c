"""Graded metrics: one value a query from the order of its gallery and the gains of the candidates.

In: a scorer (or retrieved lists), a split, metrics and the gains of every view. Out: ``engine.Found``, the per-query
values of every metric and direction::

    engine.run(scorer, split, metrics, gains)
      rankings.plan -> Ranking              queries, gallery and metrics: all or first captions, complete split or folds
      rankings.share_scores -> SharedScores rankings that are subsets of one, which are scored once
      tasks.row_tasks -> RowsTask           blocks of queries with their complete gallery
        rank.full_order.order_rows          canonical order of a block of queries
        measure.measure                     gains in this order, ideal gains, pseudo-positives -> metrics.values
          influence.measure                 the same without one image, for intervals -> Influence
    engine.from_lists(lists, ...)           the same from the order of retrieved lists

What is exact: the order is that of the canonical float64 scores, ties to the lower index (see ``rank``). A block takes
its gains, order and values from its own queries only, so block size and threads do not change a value.
Gains are computed once a block and view: complete rows, or single pairs where few candidates are read.

- ``rankings``: which rankings the metrics need
- ``tasks``: the work in blocks of queries
- ``block``: the retrieved items, gains and ideal gains of a block; ``measure``: from these to values
- ``influence``: what every image adds, as a candidate, to the values of other queries
- ``part_of_queries``: some of the queries in another process, and their values joined
- ``engine``: the public functions, threads and progress
"""
