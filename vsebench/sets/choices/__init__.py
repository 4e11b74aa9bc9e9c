"""Sets of choices: an image, or two, and captions with one right choice; and the scores of a system for them.

::

    published files, or a file of one's own ─► layouts ─► ChoiceSet ─► a split to encode, ids to match
    CSV, JSON, an array of scores ─► scores ─► (item, image, caption)

- an item and a set of them: ``items``; the layouts of files, one reader each, as a table: ``layouts``
- scores by the id of an item, or in the order of the set: ``scores``
- the relations of ARO that its macro accuracy leaves out: ``symmetric``
"""
