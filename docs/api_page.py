"""docs/api.md: every public name with its signature and its docstring, arguments as lists.

Names are objects of Sphinx's Python domain, so that the built pages link each to its lines of source (viewcode).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

HEAD = """\
# Python API

`import vsebench as vb`. `vb.evaluate`, `compare`, `agree`, `slice`, `correlate` and `evaluate_unimodal` have the names
and defaults of the options of the commands. Results print as the tables of the terminal, are shown as tables in
notebooks, and have `to_frame`, `to_latex`, `to_markdown`, `to_html`, `to_csv` and `to_json`; those with curves over k
or slices also have `plot`. Their warnings are in all of these, and are raised as `VsebenchWarning`. Input that cannot
be right raises a `VsebenchError` that says what to do. The shape of an array is in parentheses: (image, dim) has a row
an image.

:::{py:currentmodule} vsebench
:::

"""
SECTIONS = re.compile(r"^(Args|Attributes|Returns|Raises|Example)([^\n]*):\n((?:    .*\n|\n)*)", re.M)
LISTS = ("Args", "Attributes", "Raises")
TITLES = {"Args": "Arguments"}


def api_page() -> str:
    """Every public name."""
    import vsebench

    out = [HEAD]
    for name in vsebench.__all__[1:]:
        member = getattr(vsebench, name)
        kind = "class" if inspect.isclass(member) else "function"
        out.append(f"## {name}\n\n::::{{py:{kind}}} {name}{_signature(member)}\n\n{markdown(member)}")
        if inspect.isclass(member):
            out += [f":::{{py:{kind}}} {method}\n\n{text}:::\n\n" for kind, method, text in _members(member)]
        out.append("::::\n\n")
    return "".join(out).rstrip("\n") + "\n"


def _members(member: type) -> Iterator[tuple[str, str, str]]:
    """Kind, name with signature, and text of the methods and properties that a class or a base of it defines."""
    names = {n: c for c in reversed(member.__mro__) for n in vars(c) if c.__module__.startswith("vsebench.")}
    for name in names:
        value = inspect.getattr_static(member, name)
        value = getattr(value, "func", value)  # of a cached property
        if name.startswith("_") or not getattr(value, "__doc__", None):
            continue
        if isinstance(value, property) or value is not inspect.getattr_static(member, name):
            yield "property", name, markdown(value)
        elif inspect.isfunction(value):
            yield "method", name + _signature(value), markdown(value)


def _signature(member: Any) -> str:
    """The parameters without types, which the text gives in words."""
    shown = []
    for p in inspect.signature(member).parameters.values():
        if p.kind is p.VAR_POSITIONAL:
            shown.append("*" if p.name == "_" else f"*{p.name}")
        elif p.name != "self":
            value = "" if p.default is p.empty else f"={p.default!r}".replace("<factory>", "...")
            shown.append(f"{'**' if p.kind is p.VAR_KEYWORD else ''}{p.name}{value}")
    return f"({', '.join(shown)})"


def markdown(member: Any) -> str:
    """A docstring in Markdown: the text, arguments and errors as lists, and the examples."""
    text = inspect.cleandoc(member.__doc__ or "") + "\n"
    sections = {title: (words, body) for title, words, body in SECTIONS.findall(text)}
    text = SECTIONS.sub("", text)
    examples = re.findall(r"(?:^(?:>>>|\.\.\.) .*\n(?:(?!>>>)\S.*\n)*)+", text, re.M)
    for example in examples:
        text = text.replace(example, "")
    out = [_inline(re.sub(r"\n{3,}", "\n\n", text).strip()) + "\n\n"]
    for title, (words, body) in sections.items():
        if title == "Example":
            examples.append(inspect.cleandoc("\n" + body) + "\n")
            continue
        out.append(f"**{TITLES.get(title, title)}**{_inline(words)}\n\n")
        out.append("".join(_items(body)) if title in LISTS else _inline(inspect.cleandoc("\n" + body)) + "\n")
        out.append("\n")
    return "".join(out) + "".join(f"```pycon\n{example.strip()}\n```\n\n" for example in examples)


def _items(body: str) -> Iterator[str]:
    """``names: words`` with continued lines -> list items."""
    for item in re.findall(r"^    (\S.*\n(?:     .*\n)*)", body, re.M):
        names, _, words = item.partition(":")
        yield f"- {', '.join(f'`{n}`' for n in names.split(', '))}: {_inline(' '.join(words.split()))}\n"


def _inline(text: str) -> str:
    """Inline code of reStructuredText in Markdown."""
    return re.sub(r"``(.+?)``", r"`\1`", text)
