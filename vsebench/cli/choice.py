"""``vsebench choice``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..evaluation.options import Options
from .blocks import INTERVAL, options_of
from .command import command
from .results import result_options
from .terminal import Terminal


@command
@result_options
@options_of(Options, ("similarity", "ci", *INTERVAL))
def run(
    terminal: Terminal,
    systems: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="Embeddings of the images and captions of the set, or scores of the captions by item (.csv, .json, "
            ".npy). Several are compared with the first; NAME=FILE names a system.",
        ),
    ],
    set: Annotated[
        str, typer.Option(help="sugarcrepe, valse, aro or winoground, their folder, or a JSON file of your own.")
    ],
    baseline: Annotated[
        str | None,
        typer.Option(help="Scores of the captions without the image: a file, or length (the shorter one is right)."),
    ] = None,
    image_key: Annotated[str | None, typer.Option(help="Name of the image array in FILE.")] = None,
    text_key: Annotated[str | None, typer.Option(help="Name of the text array in FILE.")] = None,
    top: Annotated[int, typer.Option(min=1, help="How many categories to print; JSON has all.")] = 30,
    **more: Any,
) -> Any:
    """Choose the right caption of an image, or of two: accuracy by category with intervals, ties and a baseline.

    vsebench encode MODEL --images val2017 --split sugarcrepe -o clip.npz; vsebench choice clip.npz --set sugarcrepe
    """
    from ..analysis.choice import choice

    return choice(systems, set=set, baseline=baseline, image_key=image_key, text_key=text_key, top=top, **more)
