"""What pydantic finds wrong with a document, as sentences of ours: the one translation of its errors."""

from __future__ import annotations

import re
from typing import Any

# By the type of the error, without the ending that says what was given; fields in braces are those of its context.
_SENTENCES = {
    "missing": "is missing",
    "extra_forbidden": "is no field that is known here",
    "literal_error": "expected {expected}",
    "greater_than_equal": "expected {ge} or more",
    "less_than_equal": "expected {le} or less",
    "string_too_short": "is too short, expected at least {min_length} character(s)",
    "string_too_long": "is too long, expected at most {max_length} characters",
    "string_pattern_mismatch": "is not of the form {pattern}",
    "too_short": "has {actual_length} elements, expected at least {min_length}",
    "too_long": "has more elements than the {max_length} expected",
    "finite_number": "expected a finite number",
    "none_required": "expected null",
}
_KINDS = {
    "string": "a text", "int": "an integer", "float": "a number", "bool": "true or false", "list": "a list",
    "tuple": "a list", "dict": "an object", "model": "an object",
}  # fmt: skip


def faults_of(error: Any) -> list[str]:
    """One sentence a fault of a pydantic ``ValidationError``: the field, what is wrong, and the value."""
    found = []
    for one in error.errors(include_url=False):
        place = ".".join(map(str, one["loc"])) or "document"
        given = one.get("input")
        said = isinstance(given, (dict, list, tuple)) or given is None or one["type"] == "json_invalid"
        shown = "" if said else f" (found {str(given)[:80]!r})"
        found.append(f"{place}: {_sentence(one)}{shown}")
    return found


def _sentence(one: Any) -> str:
    kind, context = str(one["type"]), one.get("ctx", {})
    if kind == "value_error":  # raised by a model of ours, in our words
        return str(context["error"])
    if kind == "json_invalid":
        numbers = re.findall(r"\d+", str(context.get("error", "")))[-2:]
        return "is no JSON" + (f" (line {numbers[0]}, column {numbers[1]})" if len(numbers) == 2 else "")
    if kind in _SENTENCES:
        return _SENTENCES[kind].format(**context)
    expected = _KINDS.get(kind.partition("_")[0])
    return "is not valid" if expected is None else f"expected {expected}"
