"""The validity study: which retrieval metric recovers the true order of systems?

On scenes, where the truth of every pair is known, systems of graded quality are made from an oracle embedding and
ranked by every metric::

    systems ─► measure ─► findings ─► leaderboards/studies/metric_validity.json ─► figures and tables of the page

``make study`` runs all of it (``python -m studies.validity``). The sentences of the page are written by hand: read them
again when the numbers change.
"""
