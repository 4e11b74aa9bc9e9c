"""Sphinx configuration: pages are MyST Markdown; ``docs.generate`` writes the reference from the code."""

from __future__ import annotations

import vsebench

project = "vsebench"
author = "The vsebench contributors"
copyright = "2026, The vsebench contributors"
version = release = vsebench.__version__

extensions = ["myst_parser", "sphinx.ext.mathjax", "sphinx.ext.viewcode"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
smartquotes = False  # two hyphens stay two hyphens: --split is an option
toc_object_entries = False

html_theme = "furo"
html_theme_options = {"light_css_variables": {"code-font-size": "75%"}}  # 100 columns of output fit
html_static_path = ["static"]
html_css_files = ["tables.css"]
html_title = f"vsebench {release}"
