"""Results of evaluations and analyses, their tables, and one renderer a format.

Every result is a ``render.Rendered``: it gives grids (tables of text), records (rows of a data frame) and a plain
document, and gets all formats from these::

    Report, Joint, Comparison, Agreement, Slices, Choices, Study, Description, Page
        │ grids()     ──► terminal · notebook · latex · html · markdown
        │ records()   ──► pandas · csv
        └ to_dict()   ──► json ──► document.read

- ``model``: one result of an evaluation, what it needs of its metric, and how intervals are made
- ``report``, ``joint``, ``comparison``, ``agreement``, ``slices``, ``choices``, ``correlation``: the results, with the
  layout of their tables (that of a report is in ``table``); ``figure`` draws correlations
- ``description``: what a data set consists of
- ``page`` with ``page.css`` and ``page.js``: the page of reports; ``charts``: charts; ``explorer``: the data of
  its queries
- ``grid``, ``format``: tables of text, and numbers as text
- ``render``, ``terminal``, ``latex``, ``html``, ``markdown``: the formats
- ``document``, ``schema``, ``values``, ``packed``: the JSON document of a report with its per-query values
- ``lists``: the top of every ranking, kept for the page of a report
- ``per_query``: per-query values as a data frame, parquet or CSV
"""
