"""Results of evaluations and analyses, their tables, and one renderer a format.

Every result is a ``render.Result``: tables, charts, settings, notes and warnings, from which all formats are made::

    Result
        ├──► Table.cells    ──► terminal · notebook · latex · html · markdown
        ├──► table.records  ──► pandas · csv
        └──► to_dict        ──► json (a report's is read back by report.read)

- ``table``: tables of words and numbers, their text and their records; ``wide``: those with a row a system
- ``render``: what every result has; ``terminal``, ``latex``, ``html``, ``markdown``: one format each
- ``model``: one measurement of an evaluation, what it needs of its metric, how intervals are made, and numbers as text
- ``report``: the report of an evaluation; other results are in the packages that compute them (``vsebench.analysis``,
  ``vsebench.human``)
- ``page`` with ``templates/``: the page of reports; ``charts``: charts
- ``document``, ``packed``: the JSON document of a report with its per-query values
"""
