"""Suites of runs: ``SUITES``, the one table. ``run_suite`` runs one of them.

``smoke`` shows in minutes that every loss learns; ``small`` has the runs of which ``claims`` states whether the main
claims of the papers hold.

What is the same in all runs of ``small``: the encoders, the optimiser and its learning rate, pairs in
a batch, the validation metric that selects the best epoch, and for each seed the first weights and the order of the
captions. What differs, by the configuration of each run:

- the loss, its settings, and the gains from which it takes a degree;
- losses of the hardest negative begin with epochs of the sum of hinges (``loss.warmup``);
- a part of each batch of the losses on label distances is chosen near the rest of it (``loss.neighbours``), so that
  they see fewer of the captions in an epoch, in as many steps;
- reduced data (``data.first``) have more epochs, the decay and the patience in proportion;
- how many epochs are made: training ends when the validation part does not improve (``train.patience``);
- what a claim is about: short embeddings (``model.dim``), embeddings that are not normalised (``model.similarity``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vsebench.errors import UsageError
from vsebench.options import spell
from vsebench.registry import unknown
from vsebench.relevance import parse_spec

from . import config as configs
from .config import Config, override
from .losses import get_loss, loss_names
from .own_file import fingerprint, label

SEEDS = (0, 1, 2)
SHARES = (0.03, 0.05, 0.1, 0.25)  # of the training captions; SAM, WACV 2022, section 5.3
SMALL_DIM = 16  # log-ratio, CVPR 2019, section 5.2: embeddings that are much shorter
EUCLIDEAN = "log_ratio-euclidean"  # embeddings that are not normalised, as the paper proposes for this loss alone
UNTRAINED = "untrained"
COHERENT = "match:CS"  # with the k of the data
DEEP = {"scenes-tiny": 50}  # images of its test part, fewer than the k of CS@100
HEADLINE = ("R@1", "RSum", "match:NCS@10", "entails:mAP@R")  # the metrics of a table of results

# The metric that a loss is designed for; the others are designed for recall.
DESIGNED = {
    "ladder": COHERENT,
    "sam": "match:NCS@10",
    "kendall": "match:Kendall",
    "kendall_sw": "match:Kendall",
    "kendall_sw_hs": "match:Kendall",
    "bcls": "match:Kendall",
    "log_ratio": "match:nDCG@10",
    "dense_triplet": "match:nDCG@10",
    "nearest_triplet": "match:nDCG@10",
}
CONTINUOUS = ("log_ratio", "dense_triplet", "nearest_triplet")


@dataclass(frozen=True)
class Planned:
    """One run of a suite.

    Attributes:
        data: name of the data.
        variant: what is trained, without its seed: ``mh``, ``sam-3%``, ``log_ratio-dim16``, ``untrained``.
        config: the complete configuration, with the seed.
    """

    data: str
    variant: str
    config: Config

    @property
    def name(self) -> str:
        """Also its folder, below that of the suite."""
        return f"{self.data}/{self.variant.replace('%', 'pc')}-seed{self.config.train.seed}"


@dataclass(frozen=True)
class Suite:
    """A list of runs.

    Attributes:
        name: of ``--suite``.
        meaning: one line.
        runs: gives the runs; takes the names of losses, None for all.
        claims: whether the claims of the papers are judged at the end.
        elsewhere: verdicts on other data that are published beside those of its runs; the levels count them too.
        must_learn: whether a loss that does not improve on the untrained model is a fault.
    """

    name: str
    meaning: str
    runs: Callable[[list[str] | None], list[Planned]]
    claims: bool = False
    elsewhere: int = 0
    must_learn: bool = False


def get_suite(name: str) -> Suite:
    """A suite by its name; raises UsageError."""
    if name not in SUITES:
        raise unknown("suite", name, SUITES)
    return SUITES[name]


def metric_on(data: str, name: str) -> str:
    """The name of a metric on some data: ``COHERENT`` gets its k."""
    return f"{name}@{DEEP.get(data, 100)}" if name == COHERENT else name


def metrics_on(data: str) -> str:
    """All metrics that runs on some data are evaluated with."""
    coherent = metric_on(data, COHERENT)
    return f"R@1,R@5,R@10,RSum,match:NCS@10,{coherent},match:Kendall,match:nDCG@10,entails:mAP@R"


# Of --suite smoke, for every loss. One thread, as the matrices are too small for two. With 16 dimensions an untrained
# model has a Kendall's tau of 0.1.
SMOKE_SUITE = {
    "train_epochs": 16, "train_batch": 32, "train_lr": 0.01, "train_threads": 1, "train_decay_every": 0,
    "train_precision": "float64", "model_dim": 32, "model_word_dim": 32, "loss_neighbours": 0,
}  # fmt: skip


def chosen_losses(names: Sequence[str]) -> list[str]:
    """Canonical names of losses; raises UsageError for an unknown name, or one that is given twice."""
    found: list[str] = []
    for name in names:
        if not name:
            raise UsageError(
                "an empty name of a loss", fix=f"separate names by single commas, as in {spell('losses', 'mh,sam')}"
            )
        entry = get_loss(name)
        if label(entry.name) in map(label, found):
            raise UsageError(f"the loss '{entry.name}' is given twice", fix="name every loss once")
        found.append(entry.name)
    return found


def _smoke(losses: list[str] | None = None) -> list[Planned]:
    data = "scenes-tiny"
    runs = [Planned(data, UNTRAINED, override(configured("mh", data), **{**SMOKE_SUITE, "train_epochs": 0}))]
    for name in losses or loss_names():
        found = override(configured(name, data), **SMOKE_SUITE)
        select = metric_on(data, DESIGNED.get(name, "RSum"))  # the best epoch is the best of what is tested
        warmup = 6 if found.loss.warmup else 0
        runs.append(Planned(data, label(name), override(found, loss_warmup=warmup, train_select=select)))
    return runs


# If no run ends before, those on scenes-10k take 116 to 138 minutes on two cores (--jobs 2): estimated from seconds an
# epoch of runs of five epochs, of the fastest seed and of the mean.
SMALL = {"train_epochs": 12, "train_patience": 2, "train_decay_every": 6, "train_threads": 1}


def _small(losses: list[str] | None = None) -> list[Planned]:
    # All runs of a seed before the next: after a third of the time there is one of everything.
    return [planned for seed in SEEDS for planned in _of_seed(seed, losses or loss_names())]


def _of_seed(seed: int, losses: list[str]) -> list[Planned]:
    """Every one of these losses; reduced data for MH and SAM, short embeddings for label distances."""
    runs: list[Planned] = []
    data = "scenes-10k"
    euclidean = {"model_similarity": "euclidean", "loss_settings": {"similarity": "euclidean"}}

    def plan(variant: str, loss: str, **changes: object) -> None:
        found = override(configured(loss, data), **{**SMALL, **changes}, train_seed=seed)
        runs.append(Planned(data, variant, found))

    for name in losses:
        plan(label(name), name)
    if "log_ratio" in losses:
        plan(EUCLIDEAN, "log_ratio", **euclidean)
    for share in SHARES:
        # As many steps as half of the complete run has, but not more than 40 epochs.
        epochs = min(40, round(SMALL["train_epochs"] / 2 / share))
        times = epochs / SMALL["train_epochs"]
        for name in (name for name in ("mh", "sam") if name in losses):
            warmup = max(1, epochs // 3)
            plan(f"{name}-{share:.0%}", name, data_first=share, train_epochs=epochs, loss_warmup=warmup,
                 **{key: round(SMALL[key] * times) for key in ("train_decay_every", "train_patience")})  # fmt: skip
    for name in (name for name in CONTINUOUS if name in losses):
        plan(f"{name}-dim{SMALL_DIM}", name, model_dim=SMALL_DIM)
    if "log_ratio" in losses:
        plan(f"{EUCLIDEAN}-dim{SMALL_DIM}", "log_ratio", model_dim=SMALL_DIM, **euclidean)
    return runs


def degree_of(config: Config) -> str:
    """The gains from which the loss of a run takes the degree of relevance of a pair, "" where it takes none."""
    return parse_spec(config.loss.relevance).kind if get_loss(config.loss.name).needs_degree else ""


def configured(loss: str, data: str) -> Config:
    """The configuration of a loss on scenes of some name."""
    return override(configs.configured(loss, data=data), loss_fingerprint=fingerprint(loss))


SUITES = {
    suite.name: suite
    for suite in (
        Suite("smoke", "every loss on 200 scenes; fails when one does not learn", _smoke, must_learn=True),
        # leaderboards/suites/small_coco-objects.json has four verdicts.
        Suite("small", "every loss, three seeds, and whether the papers' claims hold", _small, True, elsewhere=4),
    )
}
