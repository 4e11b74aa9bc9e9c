"""Exact ranking: from scores of rows and columns to the ranks of relevant items and the order of candidates.

In: a system (scorers of vectors or of a score matrix), or retrieved lists. Out: the ranks of the relevant items
(``types.Ranks``), or the first items of queries (``types.Tops``), of some or of complete galleries. Queries are the
rows of a scorer; for the other direction they are the rows of its transpose, ``scorer.T``. Two ways::

    count.count(system, targets)                ranks of relevant items; scores are not kept
      count.thresholds                          canonical scores of the relevant pairs, and error bounds
      count.scan_tiles                          tiles of scores, in threads, for rows and columns as queries
        scorers.Scorer.tile                     one matrix product, or a part of a given matrix
        kernels.transpose                       transposed strips of a tile
        kernels.count                           candidates above each threshold; near-ties compared in float64
      order.listed, tops.place                  instead of counting: more than 64 relevant items, or allowed ones alone
      ranks.ranks_from_counts                   ranks under a tie rule

    order.Lists                                 lists from the tiles that are counted, if they are shallow
    order.top_lists(scorer, k)                  else the top of every ranking, in threads
      order.listed(scorer, queries, k, among)   the k best candidates of some queries, also for graded metrics
      order.order(scorer, queries, k)           the k best of all items
        order.candidates                        float32 products of shallow orders: what can be among the k best
        order.complete_order                    float64 products of deep orders, or given scores
        numeric.sort.order                      order by float32 score
        sort_kernels.find_runs                  runs of near-ties
        order.resolve_near_ties                 runs sorted by canonical score

What is exact: the canonical score of a pair is a float64 inner product summed in one fixed order (``scorers``), and
equal scores are in the order of the gallery index. Tiles are float32 products of any BLAS, or float64 ones rounded to
float32 where orders are deep; each has a bound on its error. A comparison that the bound does not decide, a near-tie,
is made between canonical scores. Therefore tile size, threads, BLAS and hardware do not change a rank. The entries of
a given score matrix are canonical themselves.

- scores: ``scorers`` (``Dot``, ``Matrix``, ``System``); ``sums`` and ``corrected`` make scorers of
  scorers
- ranks: ``count`` (``observe`` is both ways together), ``kernels``, ``ties``
- orders: ``order``, ``sort_kernels``; lists of any origin, also re-ranked ones: ``tops``
- back-ends: ``backends``, ``torch_backend``; FAISS: ``faiss_index``
"""
