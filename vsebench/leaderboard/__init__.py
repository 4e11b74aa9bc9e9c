"""Leaderboards: entries of three levels, their check, their tables, and the static site that is made of them.

A folder (``leaderboards/`` in the repository) is the only source; everything else is made from it::

    published/*.json    tables of papers, as printed            level published
    entries/*.json      reports with what was evaluated         level submitted
    suites/*.json       summaries of suites of the trainer      level reproduced, and the verdicts on claims
    papers.json         citations
          │ store.read ──► entries, whose numbers are ``results.table.Value``
          ▼
    groups: what may stand in one table ──► tables: rows, ranks, notes, as ``results.table.Table``
          ▼
    pages: their sections ──► site: HTML by the renderer and the template of ``results``, CSV and JSON by its records

- ``schema``: what files and entries may hold; ``facts``: unit, range and heading of every metric; ``benchmarks``: the
  test sets
- ``published``, ``suites``, ``submitted``: the three kinds of files as entries
- ``store``: the folder, and whether per-query values reproduce the numbers; ``submit``: a new entry
- ``groups``, ``ranks``, ``tables``, ``pages``: layout; ``site``: the files
"""

from __future__ import annotations
