"""The options of encoding, declared once for the functions and the command."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import UsageError
from ..options import check, option, spell

PRECISIONS = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
MIN_TOKENS = 3  # tokens: the marks of start and end, and one between them


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What moves the vectors of a model; those that are not the default are in the file and in the signature.

    Raises:
        UsageError: a value that is not allowed, or a template without one place for the caption.
    """

    lower: bool = False
    template: str | None = None
    precision: str = option("fp32", allowed=tuple(PRECISIONS))
    context_length: int | None = option(None, least=MIN_TOKENS)

    def __post_init__(self) -> None:
        check(self)
        if self.template is not None and self.template.count("{}") != 1:
            what = f"{spell('template')} is '{self.template}', with {self.template.count('{}')} places for a caption"
            raise UsageError(what, fix="write {} once, as in 'a photo of {}'")

    def applied(self, caption: str) -> str:
        """The text that the model is given for a caption."""
        caption = caption.lower() if self.lower else caption
        return caption if self.template is None else self.template.replace("{}", caption)


def context_of(longest: int | None, wanted: int | None, title: str) -> int | None:
    """The number of tokens of a caption, of a model that takes ``longest``; raises UsageError for more than these."""
    if wanted is not None and longest is not None and wanted > longest:
        what = f"{spell('context_length')} is {wanted:,}, and '{title}' has {longest:,} positions"
        raise UsageError(what, fix=f"give at most {longest:,}")
    return longest if wanted is None else wanted
