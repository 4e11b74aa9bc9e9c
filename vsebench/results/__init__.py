"""Results of evaluations and analyses, their tables, and one renderer a format.

Every result is a ``render.Rendered``: it has tables, settings, notes and warnings, and all formats are made of these::

    Report, Joint, Comparison, Agreement, Slices, Choices, Study, Description, Page
        │ tables()
        ├──► table.grids    ──► terminal · notebook · latex · html · markdown
        ├──► table.records  ──► pandas · csv
        └──► to_dict        ──► json (a report's is read back by document.read)

- ``table``: tables of words and numbers, their text and their records; ``wide``: those with a row a system
- ``render``: what every result has; ``terminal``, ``latex``, ``html``, ``markdown``: the formats of ``grid``, a table
  of text
- ``model``: one result of an evaluation, what it needs of its metric, how intervals are made, and numbers as text
- ``report``: the report of an evaluation; other results are where they are computed (``vsebench.analysis``,
  ``vsebench.human``)
- ``page`` with ``templates/``: the page of reports; ``charts``: charts; ``explorer``: the data of
  its queries
- ``document``, ``schema``, ``values``, ``packed``: the JSON document of a report with its per-query values
- ``lists``: the top of every ranking, kept for the page of a report
- ``per_query``: per-query values as a data frame, parquet or CSV
"""
