"""Plug-ins: modules that add to the tables of test sets and of relevance, loaded when a table is first read.

A distribution lists its module as an entry point of the group ``vsebench.plugins``. When it is imported it calls
``sets.catalogue.register`` and what else it adds to; it must be light, as every command that reads a table imports it.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from .errors import MissingPackage, first_line

GROUP = "vsebench.plugins"
BUILT_IN = ("vsebench.scenes.plugin",)


@cache
def load() -> None:
    """Import all plug-ins, once; raises MissingPackage for one that cannot be imported."""
    for name in (*BUILT_IN, *(entry.value for entry in entry_points(group=GROUP))):
        try:
            import_module(name)
        except Exception as error:  # of the plug-in, of any class
            what = f"the plug-in '{name}' cannot be loaded ({type(error).__name__}: {first_line(error)})"
            raise MissingPackage(what, fix="repair or uninstall it") from error
