"""The five captions of an image."""

from __future__ import annotations

from dataclasses import dataclass

from .content import Content, content
from .draws import Draws
from .settings import CAPTIONS, Settings
from .wording import worded
from .world import Scene


@dataclass(frozen=True)
class Caption:
    """A caption, and what it states."""

    text: str
    content: Content


def captions(scene: Scene, image: int, settings: Settings) -> list[Caption]:
    """The captions of image number ``image``, which shows ``scene``."""
    found = []
    for number in range(CAPTIONS):
        draws = Draws(settings.seed, "caption", image, number)
        states = content(scene, settings, draws)
        found.append(Caption(worded(states.facts, draws), states))
    return found
