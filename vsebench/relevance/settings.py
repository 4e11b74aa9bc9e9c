"""What the settings of gains mean; a setting means the same in every kind that has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Setting:
    """One setting.

    Attributes:
        question: what it decides.
        values: value -> what it does.
        other: values that are not listed, such as a file, and what they do; empty when there are none.
    """

    question: str
    values: Mapping[str, str]
    other: str = ""


SETTINGS: dict[str, Setting] = {
    "own": Setting(
        "Is a caption compared with itself? It matters for the gain of a caption and its own image, whose captions "
        "include it. All other gains are the same.",
        {
            "in": "yes: the caption is one of the captions of its image, as in the released code of the NCS authors. "
            "Its own gain is then among the largest",
            "out": "no: it is compared with the other captions of its image. With one caption an image there are none, "
            "and its own gain is 0",
            "one": "the gain of a caption and its own image is set to 1, whatever its captions say",
        },
    ),
    "agg": Setting(
        "An image has several captions. How are the similarities of a caption to each of them combined into one gain?",
        {
            "max": "the largest of them: one similar caption is enough",
            "mean": "their mean: a caption must suit all captions of the image",
            "first": "that of the first caption; the others are ignored",
        },
    ),
    "variant": Setting(
        "Which CIDEr?",
        {
            "d": "CIDEr-D, which counts a repeated n-gram no more often than the reference has it, and has a penalty "
            "for a difference in length. It is what captioning papers report",
            "plain": "the original CIDEr, without both",
        },
    ),
    "df": Setting(
        "CIDEr gives n-grams that occur with many images little weight. In which captions are these document "
        "frequencies counted? Values change with the corpus.",
        {"split": "in those of the evaluated split; an image counts once for all of its captions"},
        other="a file of captions with image ids (`df=train.jsonl`)",
    ),
    "tokens": Setting(
        "How are captions split into words?",
        {
            "ptb": "lower case, Penn Treebank rules, without punctuation: the words of the COCO evaluation server",
            "whitespace": "lower case, split at spaces; punctuation stays with its word (`dog.` is not `dog`)",
        },
    ),
    "text": Setting(
        "Which text is parsed into objects, attributes and relations?",
        {
            "original": "the caption as it was written",
            "ptb": "its `ptb` tokens, as on the COCO evaluation server",
        },
    ),
    "idf": Setting(
        "Do rare words have more weight?",
        {
            "no": "all words have the same weight",
            "yes": "a word has the weight log(images / images with the word in a caption)",
        },
    ),
    "negative": Setting(
        "What happens to gains below 0? NCS and nDCG add gains up and refuse negative ones.",
        {"keep": "they stay as they are", "zero": "they count as 0, in every metric"},
    ),
    "elsewhere": Setting(
        "Which gain has a pair whose cheap gain does not exceed the threshold?",
        {"cheap": "the cheap gain, as in the paper", "zero": "0, as in code published with the paper"},
    ),
    "rows": Setting(
        "Which side are the rows of the matrix?",
        {
            "auto": "decided by the shape of the matrix; images where it is square",
            "images": "rows are images, columns captions",
            "captions": "rows are captions, columns images",
        },
    ),
}
