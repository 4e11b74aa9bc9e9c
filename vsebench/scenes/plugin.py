"""What scenes add to vsebench: a source of test sets. Registered as a plug-in, see ``vsebench.plugins``."""

from __future__ import annotations

from ..sets.source import register
from .sets import Scenes

register(Scenes())
