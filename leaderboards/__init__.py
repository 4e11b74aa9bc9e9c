"""Leaderboards: ``python -m leaderboards add REPORT``, ``validate`` and ``build``.

The files of this folder are the only source, and everything else is made from them::

    published/*.csv     numbers of papers, as printed             level published
    entries/*.json      reports with what was evaluated           level submitted
    suites/*.json       summaries of suites (studies.suites)      level trained here, and the verdicts on claims
    papers.json, claims.json, test_sets.json                      citations, claims and test sets
          │ entries.read
          ▼
    Entry ──► tables: one a protocol, ordered and ranked ──► site: HTML, README.md and leaderboard.csv

Only public names of vsebench are used. HTML needs ``pip install 'vsebench[report]'``.
"""
