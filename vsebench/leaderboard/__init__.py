"""Leaderboards: entries of three levels, their check, their tables, and the static site that is made of them.

A folder (``leaderboards/`` in the repository) is the only source; everything else is made from it::

    published/*.json    tables of papers, as printed            level published
    entries/*.json      reports with what was evaluated         level submitted
    suites/*.json       summaries of suites of the trainer      level reproduced, and the verdicts on claims
    papers.json         citations
          │ store.read ──► entries, checked one by one (schema) and as a whole (check)
          ▼
    groups: what may stand in one table ──► tables: rows, ranks, best and second ──► views, templates: site

- ``schema``: what an entry may hold; ``facts``: unit, range and heading of every metric; ``benchmarks``: the test sets;
  ``columns``: what is listed of an entry, on pages, in ``leaderboard.csv`` and in ``leaderboard.json``
- ``published``, ``suites``, ``submitted``: the three kinds of files as entries
- ``store``: the folder, and whether per-query values reproduce the numbers
- ``submit``: a new entry
- ``groups``, ``ranks``, ``tables``: layout; ``views``: the data of the pages in ``templates/``; ``site``: the files
"""

from __future__ import annotations
