"""The validity study: which retrieval metric recovers the true order of systems?

On scenes, where the truth of every pair is known, systems of graded quality are made from an oracle embedding and
ranked by every metric::

    world ─► systems ─► measure ─► findings ─► leaderboards/studies/metric_validity.json ─► figures, tables

- ``world``: the scenes of a split, and what is true of every pair
- ``systems``: the oracle embedding, its corruptions, and which system is truly better than which
- ``ratings``: judgements made of simulated ratings
- ``pool``: judgements of the candidates that a few systems retrieve, as those of ECCV Caption were made
- ``measure``: every system by every metric, with bootstrap samples of the images
- ``findings``: how well metrics recover the order, how many images they need, and what false negatives do
- ``figures``, ``tables``: drawn and written from that file alone; ``docs/studies/metric_validity.md`` has them

``make study`` runs all of it (``python -m studies.validity``). The sentences of the page are written by hand: read them
again when the numbers change.
"""
