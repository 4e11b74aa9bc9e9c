"""Sphinx configuration: pages are MyST Markdown.

``docs.generate`` writes the reference of commands, metrics and settings from the code; autodoc and napoleon that of the
Python API, from the docstrings.
"""

from __future__ import annotations

import re
from typing import Any

import vsebench

project = "vsebench"
author = "The vsebench contributors"
copyright = "2026, The vsebench contributors"
version = release = vsebench.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]

autodoc_default_options = {"members": True, "inherited-members": "Exception,UserWarning"}
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings give axes, types and units in words

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
smartquotes = False  # two hyphens stay two hyphens: --split is an option
toc_object_entries = False

html_theme = "furo"
html_theme_options = {"light_css_variables": {"code-font-size": "75%"}}  # 100 columns of output fit
html_static_path = ["static"]
html_css_files = ["tables.css"]
html_title = f"vsebench {release}"


def _for_napoleon(app: Any, what: str, name: str, member: object, options: object, lines: list[str]) -> None:
    """Groups of arguments, "Args, input:", which napoleon does not know, and the pages that a docstring names."""
    text = re.sub(r"^Args, (.*):$", r".. rubric:: Arguments: \1\n\nArgs:", "\n".join(lines), flags=re.M)
    text = re.sub(r"^(Example|Raises), (.*):$", r".. rubric:: \1, \2", text, flags=re.M)
    lines[:] = re.sub(r"``docs/([\w-]+)\.md``", r":doc:`\1`", text).split("\n")


def setup(app: Any) -> None:
    """Called by Sphinx; docstrings are rewritten before napoleon reads them."""
    app.connect("autodoc-process-docstring", _for_napoleon, priority=400)
