"""Analysis of saved reports: tables of systems, tests between them, agreement of metrics, and slices of queries. Of
data sets: what they consist of, and choices between captions.

Every function takes the reports of ``vsebench.evaluate``, as files or as objects, and returns a result of
``vsebench.results`` that can be printed, shown in a notebook or written as a data frame, LaTeX, Markdown, HTML or JSON.
The values of the queries are in the reports; nothing is ranked again::

    reports ──► systems.load_systems ──► comparable systems and the metrics that they share
                                   │
                                   ├─► compare.compare    their values in one table, and paired tests
                                   ├─► agree.agree        Kendall's tau between metrics
                                   ├─► slices.slice       a metric in bins of its queries
                                   └─► page.page          all of these with charts and single queries

- ``systems``: reading reports, whether systems may be compared, and the values that they share
- ``compare``, ``agree``, ``slices``: the analyses, each with the tables of it
- ``one_table``: the table of ``compare`` without tests; ``tests_between``: its tests; ``sets_and_runs``: its means over
  test sets and training runs
- ``attributes``, ``bins``: what queries can be sliced by, and into which bins
- ``page``, with ``page_queries`` (lists of queries) and ``thumbnails``: the page of reports
- ``choice``: from embeddings or scores, how often the right caption is chosen, by category of the items
- ``describe``: the size and words of a data set; ``true_pairs``: which captions of scenes are true of which images
"""
