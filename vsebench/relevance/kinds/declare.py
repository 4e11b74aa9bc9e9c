"""The declaration of one kind of gains."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from ...errors import UsageError
from ...types import Split
from ..gains import Gains, Progress

# The gains of a split: split (with its captions, where the kind needs them), argument, the value of every setting,
# callback for the fraction that is done.
Loader = Callable[[Split, "str | None", Mapping[str, str], "Progress | None"], Gains]


@dataclass(frozen=True)
class GainsKind:
    """One kind of gains: its facts, its settings, and where it is implemented.

    Attributes:
        name: of the kind, and the view in metric names.
        title: the full name.
        formula: one line.
        low, high: range of a gain; None where there is no bound.
        settings: key -> allowed values, the default first; ``settings.SETTINGS`` says what they mean.
        needs: what has to be installed, built or given.
        load: dotted name of the function ``(split, argument, settings, progress) -> Gains``, whose module is imported
            when gains are loaded.
        meaning: what a gain measures, in words.
        argument: what may follow the name after a colon; empty when nothing may.
        reference: the publication.
        cite: citation key of ``docs/references.md``.
        placeholder: what stands for the argument in help, as ``FILE``.
        endings: of file names; a specification that begins with such a file is of this kind, the file its argument.
        open_settings: keys of settings that take other values too, such as a file.
        nested: whether the argument consists of other specifications with settings of their own.
        needs_captions: whether it can only be loaded for a split with captions.
        uses_captions: whether values may depend on the captions of the split.
        from_distance: whether gains are 1 / (1 + d) of a distance d, so that mean label distance is defined.
        finds_lowest: whether loading finds the smallest gain, so that only then metrics can be refused by it.
        rows_affordable: whether all pairs of a large split can be computed in reasonable time.
    """

    name: str
    title: str
    formula: str
    low: float | None
    high: float | None
    settings: Mapping[str, tuple[str, ...]]
    needs: str
    load: str
    meaning: str = ""
    argument: str = ""
    reference: str = ""
    cite: str = ""
    placeholder: str = ""
    endings: tuple[str, ...] = ()
    open_settings: tuple[str, ...] = ()
    nested: bool = False
    needs_captions: bool = True
    uses_captions: bool = True
    from_distance: bool = False
    finds_lowest: bool = False
    rows_affordable: bool = True

    @property
    def compares_captions(self) -> bool:
        """Whether any caption is compared with any others, so that a caption can stand for an image."""
        return self.uses_captions and not self.nested

    @property
    def form(self) -> str:
        """How it is written for ``--gains``, as in ``sentence:NAME``."""
        if self.endings:
            return f"FILE{self.endings[0]}"
        return f"{self.name}:{self.placeholder}" if self.placeholder else self.name

    def value(self, settings: Mapping[str, str], key: str) -> str:
        """The value of a setting, its default when it is not among ``settings``.

        Raises:
            UsageError: a value that the setting does not take.
        """
        allowed = self.settings[key]
        value = settings.get(key, allowed[0])
        if value not in allowed and key not in self.open_settings:
            raise UsageError(f"{self.name}: {key} is '{value}'", fix=f"use {', '.join(allowed)}")
        return value

    def loader(self) -> Loader:
        """The function that loads gains of this kind."""
        module, _, name = self.load.rpartition(".")
        return cast(Loader, getattr(importlib.import_module(module), name))
