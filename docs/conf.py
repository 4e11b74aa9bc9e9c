"""Sphinx configuration: pages are MyST Markdown, the API is read from the docstrings."""

from __future__ import annotations

import vsebench

project = "vsebench"
author = "The vsebench contributors"
copyright = "2026, The vsebench contributors"
version = release = vsebench.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]

myst_enable_extensions = ["dollarmath", "deflist", "fieldlist"]
myst_heading_anchors = 3
autodoc_typehints = "description"
autodoc_mock_imports = ["torch"]  # the pages of the losses build without the train extra

html_theme = "furo"
html_title = f"vsebench {release}"
