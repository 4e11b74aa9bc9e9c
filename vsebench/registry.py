"""Tables of names: lookup, and errors that suggest similar names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

from .errors import UsageError
from .errors import closest as closest
from .errors import unknown as unknown

T = TypeVar("T")


class Registry(Generic[T]):
    """A table of objects of one kind, such as losses, by name and alias, in order of registration."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._items: dict[str, T] = {}
        self._aliases: dict[str, str] = {}

    def add(self, name: str, value: T, aliases: Iterable[str] = ()) -> T:
        """Register ``value``; raises UsageError when the name or an alias is taken."""
        for key in (name, *aliases):
            if key in self:
                raise UsageError(f"{self.kind} '{key}' is registered twice", fix="give it another name")
        self._items[name] = value
        self._aliases.update((alias, name) for alias in aliases)
        return value

    def get(self, name: str) -> T:
        """The value under a name or alias; raises UsageError with close matches."""
        key = self._aliases.get(name, name)
        if key not in self._items:
            raise unknown(self.kind, name, [*self._items, *self._aliases])
        return self._items[key]

    def names(self) -> list[str]:
        """Canonical names in order of registration."""
        return list(self._items)

    def __contains__(self, name: object) -> bool:
        return name in self._items or name in self._aliases
