"""docs/api.md: every public name below its task, with its signature and its docstring, arguments as lists.

``TASKS`` says which name stands where. An argument that several functions explain with the same words is explained
once, and they link to it.

Names are objects of Sphinx's Python domain, so that the built pages link each to its lines of source (viewcode).
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
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
TASKS: Mapping[str, tuple[str, ...]] = {
    "Evaluation": ("evaluate", "evaluate_unimodal", "choice", "Accumulator"),
    "Results, saved reports, errors": ("Report", "load", "export", "VsebenchError", "VsebenchWarning"),
    "Comparison and display": ("compare", "joint", "agree", "slice", "report_page"),
    "Sets, splits and vectors": ("load_split", "describe", "Split", "Embeddings"),
    "Encoding with a pretrained model": ("encode", "encode_all", "Encoded", "EncodedFile"),
    "Relevance and agreement with people": ("correlate", "Relevance"),
    "Names and declarations of metrics": ("parse", "metric", "metric_sum", "Metric"),
    "Scenes, whose truth is known": ("build_scenes", "open_scenes", "StoredScenes"),
}
SHARED = "Arguments that functions share"
TIMES = 3  # functions that explain an argument with the same words, so that it is shared
SECTIONS = re.compile(r"^(Args|Attributes|Returns|Raises|Example)([^\n]*):\n((?:    .*\n|\n)*)", re.M)
LISTS = ("Args", "Attributes", "Raises")
TITLES = {"Args": "Arguments"}


def api_page() -> str:
    """Every public name, below its task."""
    import vsebench

    shared = _shared([getattr(vsebench, name) for names in TASKS.values() for name in names])
    out = [HEAD, "| task | functions and classes |\n|---|---|\n"]
    for task, names in TASKS.items():
        links = ", ".join(f"[`{name}`](#{_anchor(name)})" for name in names)
        out.append(f"| [{task}](#{_anchor(task)}) | {links} |\n")
    out += [f"\n## {SHARED}\n\n", *sorted(shared), "\n"]
    for task, names in TASKS.items():
        out.append(f"## {task}\n\n")
        out += [_entry(name, getattr(vsebench, name), shared) for name in names]
    return "".join(out).rstrip("\n") + "\n"


def _entry(name: str, member: Any, shared: Collection[str]) -> str:
    """The sub-heading, signature and text of a name, and of the methods of a class."""
    kind = "class" if inspect.isclass(member) else "function"
    out = [f"### {name}\n\n::::{{py:{kind}}} {name}{_signature(member)}\n\n{markdown(member, shared)}"]
    if inspect.isclass(member):
        out += [f":::{{py:{kind}}} {method}\n\n{text}:::\n\n" for kind, method, text in _members(member)]
    return "".join([*out, "::::\n\n"])


def _anchor(heading: str) -> str:
    """The anchor of a heading; that of the class Metric is behind that of the function metric."""
    found = re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
    return f"{found}-1" if heading == "Metric" else found


def _shared(members: Collection[Any]) -> set[str]:
    """The items of arguments that at least ``TIMES`` functions have; of several with one name the most frequent."""
    times = Counter(
        item
        for member in members
        if not inspect.isclass(member)
        for title, _, body in SECTIONS.findall(inspect.cleandoc(member.__doc__ or "") + "\n")
        if title == "Args"
        for item in _items(body)
    )
    found: dict[str, str] = {}
    for item, count in times.most_common():
        if count >= TIMES:
            found.setdefault(_names(item), item)
    return set(found.values())


def _names(item: str) -> str:
    """The names of arguments at the beginning of a list item."""
    return item.removeprefix("- ").partition(": ")[0]


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


def markdown(member: Any, shared: Collection[str] = ()) -> str:
    """A docstring in Markdown: the text, arguments and errors as lists, and the examples.

    Items of ``shared`` are named, with a link to their explanation.
    """
    text = inspect.cleandoc(member.__doc__ or "") + "\n"
    sections = SECTIONS.findall(text)
    text = SECTIONS.sub("", text)
    examples = re.findall(r"(?:^(?:>>>|\.\.\.) .*\n(?:(?!>>>)\S.*\n)*)+", text, re.M)
    for example in examples:
        text = text.replace(example, "")
    out = [_inline(re.sub(r"\n{3,}", "\n\n", text).strip()) + "\n\n"]
    for title, words, body in sections:
        if title == "Example":
            examples.append(inspect.cleandoc("\n" + body) + "\n")
            continue
        out.append(f"**{TITLES.get(title, title)}{_inline(words)}**\n\n")
        if title in LISTS:
            items = list(_items(body))
            also = ", ".join(_names(item) for item in items if item in shared)
            out += [item for item in items if item not in shared]
            out.append(f"- also {also}: [shared](#{_anchor(SHARED)})\n" if also else "")
        else:
            out.append(_inline(inspect.cleandoc("\n" + body)) + "\n")
        out.append("\n")
    return "".join(out) + "".join(f"```pycon\n{example.strip()}\n```\n\n" for example in examples)


def _items(body: str) -> Iterator[str]:
    """``names: words`` with continued lines -> list items."""
    for item in re.findall(r"^    (\S.*\n(?:     .*\n)*)", body, re.M):
        names, _, words = item.partition(":")
        yield f"- {', '.join(f'`{n}`' for n in names.split(', '))}: {_inline(' '.join(words.split()))}\n"


def _inline(text: str) -> str:
    """Inline code of reStructuredText in Markdown; pages of the documentation as links."""
    return re.sub(r"``(.+?)``", r"`\1`", re.sub(r"``docs/([\w-]+)\.md``", r"[\1](\1.md)", text))
