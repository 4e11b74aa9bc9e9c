"""docs/relevance.md: judgements, kinds of gains and their settings, from the tables of the code."""

from __future__ import annotations

import re
from typing import Any

RELEVANCE = """\
# Relevance

A metric needs to know which candidates are right for a query. There are two kinds of answers:

- **Judgements** say yes or no for a pair of an image and a caption. Recall, R-P and mAP@R use them.
- **Gains** are a number for every pair: how similar the caption is to the captions of the image. NCS, SR, nDCG, CS
  and Kendall use them. No pair is simply wrong.

## Judgements

A set of judgements is named before the metric, as in `eccv:R@1`. Without a name it is `gt`.

"""
GAINS_IN_WORDS = """\
## Gains

A gain compares a caption with the captions of an image, so it measures similarity of text; the pictures have no part
in it. Only `holds` and `match` compare a caption with what an image shows, which is known of scenes. The gain of an
image and a caption is the same number in both directions.

"""
NAMING_GAINS = """\
Gains are chosen with `--gains` and named before the metric:

```console
$ vsebench eval embeddings.npz --gains cider,spice --metrics cider:NCS@10,spice:NCS@10
$ vsebench eval embeddings.npz --gains cider:tokens=whitespace:own=out --metrics NCS@10
$ vsebench eval embeddings.npz --gains sentence:all-MiniLM-L6-v2 --metrics sentence:SR@10
$ vsebench eval embeddings.npz --gains gains.npy --metrics matrix:nDCG@10
```

What follows the name of a kind is its argument, if it has one, and its settings as `key=value`, all separated by
colons. A metric without a name uses the first of `--gains`, or CIDEr-D. Gains need the captions of the test set:
those of declared splits are known, others are given with `--captions FILE`. Gains are rounded to float32. All settings
are part of the signature of a report.

"""
SETTINGS_OF_GAINS = """\
## Settings of gains

A setting has the same meaning in every kind that has it. The values of a metric with different settings cannot be
compared.

"""
FURTHER = {
    "spice": "\nCaptions are parsed once, with the official Java tools, which the extra `spice` installs: "
    "`vsebench spice build --split coco-5k` (15 to 60 captions a second; it can be interrupted). "
    "`vsebench spice import FILE` reads captions that were parsed elsewhere.\n",
    "sentence": "\nA file of caption vectors is matched by its ids. Without ids its rows are in the order of a "
    "declared split, or for a custom split in the order of the text vectors.\n",
    "wmd": "\nAn exact distance takes tens of microseconds a pair of captions. Metrics need all pairs of a test set, "
    "and are refused for splits of more than 100,000 pairs of an image and a caption.\n",
    "holds": "\nFacts are the attributes and numbers of groups of objects, their relations, and the background. Where "
    "the words of a caption fit several groups, those are meant of which the most facts hold; all ways are tried. The "
    "gain is 1 exactly for the pairs of the judgements `entails`, however little a caption states. A caption that "
    "states no fact has no value as a query.\n",
    "match": "\nFacts are those of `holds`. A caption that is wholly true of an image and says little has a small "
    "gain, often smaller than that of a long caption of which half is false. It orders captions by how well they "
    "describe an image, and not by how much of them holds. A caption that states no fact has no value as a query.\n",
    "matrix": "\nRows and columns are matched by the ids in the file. Without ids they are in the order of a "
    "declared split, or for a custom split in the order of the vectors.\n",
}


def relevance_page() -> str:
    """Every judgement and every graded relevance: rule or formula, range, settings, source."""
    from vsebench.relevance.sources import judgements, kinds_of_gains

    out = [RELEVANCE]
    for d in judgements().values():
        out.append(f"### {d.name}: {d.title}\n\n")
        where = ", ".join(f"`{s}`" for s in d.splits) or ("splits with folds" if d.folds else "every split")
        facts = [("relevant", d.rule), ("where", where), ("source", d.reference)]
        out += [f"- {key}: {value}\n" for key, value in facts]
        out.append("\n")
    gains = kinds_of_gains()
    out.append(GAINS_IN_WORDS)
    out.append("| name | what a gain measures | needs |\n|---|---|---|\n")
    out += [f"| [`{g.name}`](#{_anchor(g)}) | {g.meaning} | {g.needs} |\n" for g in gains.values()]
    out.append("\n" + NAMING_GAINS)
    out += [_kind(g) for g in gains.values()]
    out.append(SETTINGS_OF_GAINS)
    out += _settings(gains)
    return "".join(out).rstrip("\n") + "\n"


def _anchor(kind: Any) -> str:
    """The anchor of the heading of a kind."""
    return re.sub(r"[^a-z0-9 -]", "", f"{kind.name}: {kind.title}".lower()).replace(" ", "-")


def _kind(g: Any) -> str:
    """The section of a kind of gains."""
    from vsebench.relevance.sources import takes_others

    low, high = ("no bound" if x is None else f"{x:g}" for x in (g.low, g.high))
    settings = "; ".join(
        f"[`{k}`](#{k}) = {', '.join(f'`{x}`' for x in v)}{' or a file' if takes_others(k) else ''}"
        for k, v in g.settings.items()
    )
    facts = [
        ("range", f"{low} to {high}"),
        ("argument", g.argument.partition(": ")[2]),
        ("settings, the default first", settings),
        ("needs", g.needs),
        ("source", g.reference),
    ]
    lines = "".join(f"- {key}: {value}\n" for key, value in facts if value)
    return f"### {g.name}: {g.title}\n\n`{g.rule}`\n\n{lines}{FURTHER.get(g.name, '')}\n"


def _settings(kinds: Any) -> list[str]:
    """What every setting and each of its values means, and which kinds have it."""
    from vsebench.relevance.settings import SETTINGS

    out = []
    for key, setting in SETTINGS.items():
        having = [g for g in kinds.values() if key in g.settings]
        default = {g.settings[key][0] for g in having}
        out.append(f"### {key}\n\n{setting.question} Of {', '.join(f'`{g.name}`' for g in having)}.\n\n")
        for value, words in setting.values.items():
            some = [g.name for g in having if value in g.settings[key]]
            only = "" if len(some) == len(having) else f" ({', '.join(f'`{n}`' for n in some)} only)"
            out.append(f"- `{key}={value}`{' (default)' if value in default else ''}{only}: {words}\n")
        out.append(f"- {setting.other}\n\n" if setting.other else "\n")
    return out
