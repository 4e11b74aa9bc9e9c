"""Which model is meant: a library and a name, or a folder."""

from __future__ import annotations

import importlib.util
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from ..errors import BadInput, MissingPackage, UsageError, install
from ..files.regular import expanded

OPEN_CLIP, SENTENCE = "open_clip", "sentence-transformers"
MODULES = {OPEN_CLIP: "open_clip", SENTENCE: "sentence_transformers"}
MODEL_FORMS = "open_clip:NAME/WEIGHTS, sentence-transformers:NAME, or the folder of a model"
# The files by which the folder of a model is recognised.
OPEN_CLIP_FILE, SENTENCE_FILES = "open_clip_config.json", ("modules.json", "config.json")
ADAPTER_FILE = "adapter_config.json"  # of peft
WEIGHTS_ENDINGS = (".pt", ".pth", ".bin", ".ckpt")
HUB = "hf-hub:"
FIX = "check the name and the network, or pass the folder of a model"  # where loading fails


@dataclass(frozen=True)
class Named:
    """A model by name, not loaded.

    Attributes:
        library: ``open_clip`` or ``sentence-transformers``.
        name: of an architecture or a published model; of a folder its path.
        weights: of open_clip: a tag such as ``laion2b_s34b_b79k``, or a file; empty for folders and ``hf-hub:`` names.
        folder: whether ``name`` is a folder.
    """

    library: str
    name: str
    weights: str = ""
    folder: bool = False

    @property
    def title(self) -> str:
        """As a result states it: without the folders above it."""
        name = Path(self.name).resolve().name if self.folder else self.name
        weights = Path(self.weights).name if self.weights and Path(self.weights).is_file() else self.weights
        return f"{self.library}:{name}" + (f"/{weights}" if weights else "")

    @property
    def slug(self) -> str:
        """As part of the name of a file."""
        return re.sub(r"[^\w.]+", "-", self.title.partition(":")[2]).strip("-") or "model"


def find(model: str) -> Named | None:
    """The model that a user named; None for what names no library and is no folder of one of their models.

    Raises:
        UsageError: a library without a model, open_clip without weights, weights without a model.
        BadInput: a folder without a model of the library, or with an adapter.
    """
    prefix, colon, rest = model.partition(":")
    library = {name.replace("-", "_"): name for name in MODULES}.get(prefix.lower().replace("-", "_"))
    if not colon or library is None:
        folder = expanded(model)
        if folder.suffix in WEIGHTS_ENDINGS and folder.is_file():
            what = "holds weights without an architecture"
            named = shlex.quote(f"open_clip:ViT-B-32/{model}")
            raise UsageError(what, where=model, fix=f"add the architecture, as in {named}")
        found = _library_of(folder)
        return None if found is None else Named(found, str(folder), folder=True)
    if not rest.strip():
        raise UsageError(f"'{model}' is not the name of a model", fix=f"give {MODEL_FORMS}")
    folder = expanded(rest)
    if folder.is_dir():
        if (library == OPEN_CLIP) != (_library_of(folder) == OPEN_CLIP) or _library_of(folder) is None:
            files = OPEN_CLIP_FILE if library == OPEN_CLIP else " and no ".join(SENTENCE_FILES)
            raise BadInput(
                f"this folder has no model of {library} (no {files})", where=folder, fix=f"give {MODEL_FORMS}"
            )
        return Named(library, str(folder), folder=True)
    if rest.startswith((".", "/", "~")):
        raise BadInput("folder not found", where=rest, fix=f"give {MODEL_FORMS}")
    return _of_open_clip(rest) if library == OPEN_CLIP else Named(library, rest)


def require(model: Named) -> None:
    """Check that the library of a model and Pillow are installed; raises MissingPackage."""
    for module, what in ((MODULES[model.library], model.library), ("torch", "torch"), ("PIL", "Pillow")):
        if importlib.util.find_spec(module) is None:
            raise MissingPackage(f"'{model.title}' needs {what}, but it is not installed", fix=install("clip"))


def _of_open_clip(rest: str) -> Named:
    """``NAME/WEIGHTS``, where WEIGHTS may be a file in folders; ``hf-hub:OWNER/NAME`` has its weights."""
    if rest.startswith(HUB):
        return Named(OPEN_CLIP, rest)
    name, _, weights = rest.partition("/")
    if not weights:
        what = f"'open_clip:{rest}' has no weights"
        raise UsageError(what, fix=f"give open_clip:{name}/WEIGHTS, such as open_clip:ViT-B-32/laion2b_s34b_b79k")
    return Named(OPEN_CLIP, name, weights)


def _library_of(folder: Path) -> str | None:
    if (folder / ADAPTER_FILE).is_file():
        merge = "PeftModel.from_pretrained(MODEL, FOLDER).merge_and_unload().save_pretrained(NEW)"
        raise BadInput(
            "this folder has an adapter, not a complete model", where=folder, fix=f"merge it into its model: {merge}"
        )
    if (folder / OPEN_CLIP_FILE).is_file():
        return OPEN_CLIP
    return SENTENCE if any((folder / name).is_file() for name in SENTENCE_FILES) else None
