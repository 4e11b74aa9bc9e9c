"""The notebook of a page: its Python blocks are cells of code, without outputs, the text between them Markdown."""

from __future__ import annotations

import json
import re
from typing import Any

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.S | re.M)


def notebook(page: str) -> str:
    """The JSON of a notebook (nbformat 4.5) with the text and the Python blocks of a page.

    Links to other pages lose their targets, which a notebook on another machine does not have.
    """
    parts = BLOCK.split(page)  # text and code, alternating
    cells: list[dict[str, Any]] = []
    for number, part in enumerate(parts):
        code = number % 2 == 1
        text = part.strip("\n") if code else re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", part).strip("\n")
        if not text:
            continue
        cell: dict[str, Any] = {"cell_type": "code" if code else "markdown", "id": f"cell-{len(cells)}", "metadata": {}}
        if code:
            cell |= {"execution_count": None, "outputs": []}
        cells.append(cell | {"source": text.splitlines(keepends=True)})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"
