"""Scenes and captions as lines of JSON, in words."""

from __future__ import annotations

import json
from typing import Any

from .facts import AT_LEAST_TWO, UNSAID, Facts, Mention
from .settings import Part
from .wording import Caption
from .world import ATTRIBUTES, BACKGROUNDS, RELATIONS, SIDE, Scene


def image_id(name: str, image: int) -> str:
    """The id of an image, such as ``scenes-10k-000017``; ids of one data set have the same length."""
    return f"{name}-{image:06d}"


def scene_line(name: str, image: int, part: Part, scene: Scene, size: int) -> str:
    """A line of ``scenes.jsonl``; boxes are (left, top, right, bottom) in pixels."""
    groups: list[dict[str, Any]] = []
    for g, group in enumerate(scene.groups):
        words: dict[str, Any] = {key: ATTRIBUTES[key][getattr(group, key)] for key in ATTRIBUTES}
        # Exact: a box is an integer, and SIDE a power of two.
        boxes = [[edge * size / SIDE for edge in box] for box in scene.boxes(g)]
        groups.append({**words, "number": group.number, "boxes": boxes})
    record = {
        "id": image_id(name, image),
        "part": part,
        "background": BACKGROUNDS[scene.background],
        "groups": groups,
        "relations": [[a, RELATIONS[relation], b] for relation, a, b in sorted(scene.relations)],
    }
    return json.dumps(record) + "\n"


def caption_line(name: str, image: int, number: int, part: Part, caption: Caption) -> str:
    """A line of ``captions.jsonl``."""
    image_name = image_id(name, image)
    record = {
        "caption_id": f"{image_name}-{number}",
        "image_id": image_name,
        "split": part,
        "caption": caption.text,
        "kind": caption.content.kind,
        "facts": in_words(caption.content.facts),
    }
    return json.dumps(record) + "\n"


def in_words(facts: Facts) -> dict[str, Any]:
    """What a caption states, as plain values: ``{"mentions": [{"shape": "circle", "number": 2}], ...}``.

    Under ``relations``, ``[0, "left of", 1]`` connects mentions by their index.
    """
    said: dict[str, Any] = {"mentions": [_mention(mention) for mention in facts.mentions]}
    if facts.relations:
        said["relations"] = [[a, RELATIONS[relation], b] for relation, a, b in facts.relations]
    if facts.background != UNSAID:
        said["background"] = BACKGROUNDS[facts.background]
    return said


def _mention(mention: Mention) -> dict[str, Any]:
    words: dict[str, Any] = {
        key: ATTRIBUTES[key][code] for key, code in zip(ATTRIBUTES, mention.attributes, strict=True) if code != UNSAID
    }
    if mention.number != UNSAID:
        words["number"] = "at least 2" if mention.number == AT_LEAST_TWO else mention.number
    return words
