"""Exact ranking: from image-caption scores to ranks, top lists and complete orders.

In: a scorer (vectors or a score matrix), or retrieved lists. Out: the ranks of the relevant items and the top k of
every query (``types.Observation``), or the canonical order of complete galleries (``full_order.Order``). Two paths::

    observe.observe(scorer, requests)                 ranks of relevant items, top k; scores are not kept
      thresholds.score, thresholds.make               canonical scores of the relevant pairs, and error bounds
      stream.stream                                   tiles of scores, in threads
        scorers.Scorer.tile                           one matrix product, or a part of a given matrix
        kernels.count_rows, kernels.count_columns     candidates above each threshold; near-ties compared in float64
        select.Selector.add                           top k of a complete gallery, else -> kernels.collect: candidates
      dense.count                                     instead of counting: queries with more than 64 relevant items
        full_order.order_of                           as below; sort_kernels.place_pairs reads where these items are
      order.ranks_from_counts                         ranks under a tie rule
      select.Selector.finish                          top k of the candidates
        full_order.canonical_order                    as below

    full_order.order_rows(scorer, direction, tile)    order of a block of queries, for graded metrics
      full_order.rows_of                              float32 products, or float64 ones for deep orders, with a bound
      numeric.sort.order                              order by float32 score
      sort_kernels.find_runs                          runs of near-ties
      full_order.canonical_order                      runs sorted by canonical score

What is exact: the canonical score of a pair is a float64 inner product summed in one fixed order (``exact``), and
equal scores are in the order of the gallery index. Tiles are float32 products of any BLAS, or float64 ones rounded to
float32 where lists are deep; each has a bound on its error. A comparison that the bound does not decide, a near-tie, is
made between canonical scores. Therefore block size, threads, BLAS and hardware do not change a rank. The entries of a
given score matrix are canonical themselves.

- scores: ``scorers`` (``Dot``, ``Matrix``), ``exact``, ``stream``
- ranks and top lists: ``observe``, ``thresholds``, ``dense``, ``select``, ``order``, ``kernels``; of lists: ``lists``
- ``rerank``: the top of every ranking in the order of a second stage
- complete orders: ``full_order``, ``sort_kernels``
"""
