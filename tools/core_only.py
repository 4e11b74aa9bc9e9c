"""Run the installed package without any extra, away from the checkout: its commands, and an evaluation of a file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np


def vsebench(*words: str) -> str:
    """What a command prints on stdout; ends the program when it fails."""
    program = Path(sys.executable).with_name("vsebench")
    return subprocess.run([program, *words], check=True, stdout=subprocess.PIPE, text=True).stdout


def main() -> None:
    """Every check; an error is a failure."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        rng = np.random.default_rng(0)
        images = rng.normal(size=(20, 8)).astype("float32")
        of_text = np.repeat(np.arange(20), 5)
        texts = (images[of_text] + rng.normal(size=(100, 8))).astype("float32")
        np.savez("small.npz", image_embeddings=images, text_embeddings=texts, image_of_text=of_text)
        for words in (["--help"], ["metrics"], ["eval", "small.npz", "--split", "custom"]):
            if not vsebench(*words):
                sys.exit(f"vsebench {' '.join(words)} printed nothing")
        if not json.loads(vsebench("eval", "small.npz", "--split", "custom", "--json"))["results"]:
            sys.exit("a report without results")
    code = "import vsebench, train_reference; print(vsebench.__version__, 'from', vsebench.__file__)"
    subprocess.run([sys.executable, "-c", code], check=True)


if __name__ == "__main__":
    main()
