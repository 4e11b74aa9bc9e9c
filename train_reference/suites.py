"""Suites of runs: ``SUITES``, the one table. ``run_suite`` runs one of them.

``smoke`` shows in minutes that every loss learns; ``small`` has the runs of which ``claims`` states whether the main
claims of the papers hold.

What is the same in all runs of ``small`` on the same data: the encoders, the optimiser and its learning rate, pairs in
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
from vsebench.relevance.kinds import parse_spec

from . import start
from .config import FOLDER, Config, Data, override
from .losses import fingerprint, get_loss, label, loss_names

SEEDS = (0, 1, 2)
SHARES = (0.03, 0.05, 0.1, 0.25)  # of the training captions; SAM, WACV 2022, section 5.3
SMALL_DIM = 16  # log-ratio, CVPR 2019, section 5.2: embeddings that are much shorter
EUCLIDEAN = "log_ratio-euclidean"  # embeddings that are not normalised, as the paper proposes for this loss alone
UNTRAINED = "untrained"
OBJECTS = "coco-objects"


@dataclass(frozen=True)
class Measures:
    """What runs on some data are evaluated with.

    Attributes:
        graded: the gains of graded metrics.
        complete: a metric of judgements that know the positives of all queries.
        deep: k of CS@k.
    """

    graded: str
    complete: str
    deep: int = 100

    @property
    def metrics(self) -> tuple[str, ...]:
        """All metrics, those of a table of results first."""
        graded = ("NCS@10", f"CS@{self.deep}", "Kendall", "nDCG@10")
        return ("R@1", "R@5", "R@10", "RSum", *(f"{self.graded}:{name}" for name in graded), self.complete)

    @property
    def headline(self) -> tuple[str, ...]:
        """The metrics of a table of results."""
        return ("R@1", "RSum", f"{self.graded}:NCS@10", self.complete)

    def of(self, word: str) -> str:
        """A metric by its word: ``graded:NCS@10`` and ``complete`` are those of these data."""
        if word == "complete":
            return self.complete
        if word == "graded:CS":
            return f"{self.graded}:CS@{self.deep}"
        return word.replace("graded:", f"{self.graded}:")


# Metrics by data. The test parts of scenes-tiny have 50 images, fewer than the k of CS@100.
MEASURES = {
    "scenes-tiny": Measures("match", "entails:mAP@R", deep=50),
    "scenes-10k": Measures("match", "entails:mAP@R"),
    OBJECTS: Measures("cider", "eccv:mAP@R"),
}

# The metric that a loss is designed for, by word; the others are designed for recall.
DESIGNED = {
    "ladder": "graded:CS",
    "sam": "graded:NCS@10",
    "kendall": "graded:Kendall",
    "kendall_sw": "graded:Kendall",
    "kendall_sw_hs": "graded:Kendall",
    "bcls": "graded:Kendall",
    "log_ratio": "graded:nDCG@10",
    "dense_triplet": "graded:nDCG@10",
    "nearest_triplet": "graded:nDCG@10",
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
        runs: gives the runs, and a note for what is left out; takes the files of coco-objects, None without them, and
            the names of losses, None for all.
        claims: whether the claims of the papers are judged at the end.
        must_learn: whether a loss that does not improve on the untrained model is a fault.
    """

    name: str
    meaning: str
    runs: Callable[[Data | None, list[str] | None], tuple[list[Planned], list[str]]]
    claims: bool = False
    must_learn: bool = False


def get_suite(name: str) -> Suite:
    """A suite by its name; raises UsageError."""
    if name not in SUITES:
        raise unknown("suite", name, SUITES)
    return SUITES[name]


def measures(data: str) -> Measures:
    """The metrics of some data; raises UsageError for data of which none are stated."""
    if data not in MEASURES:
        raise unknown("data of a suite", data, MEASURES)
    return MEASURES[data]


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


def _smoke(objects: Data | None = None, losses: list[str] | None = None) -> tuple[list[Planned], list[str]]:
    data = "scenes-tiny"
    runs = [Planned(data, UNTRAINED, override(configured("mh", data), **{**SMOKE_SUITE, "train_epochs": 0}))]
    for name in losses or loss_names():
        found = override(configured(name, data), **SMOKE_SUITE)
        select = MEASURES[data].of(DESIGNED.get(name, "RSum"))  # the best epoch is the best of what is tested
        warmup = 6 if found.loss.warmup else 0
        runs.append(Planned(data, label(name), override(found, loss_warmup=warmup, train_select=select)))
    return runs, []


# If no run ends before, those on scenes-10k take 116 to 138 minutes on two cores (--jobs 2): estimated from seconds an
# epoch of runs of five epochs, of the fastest seed and of the mean.
SMALL = {"train_epochs": 12, "train_patience": 2, "train_decay_every": 6, "train_threads": 1}


def _small(objects: Data | None = None, losses: list[str] | None = None) -> tuple[list[Planned], list[str]]:
    runs: list[Planned] = []
    notes, chosen = [], losses or loss_names()
    for seed in SEEDS:  # all runs of a seed before the next: after a third of the time there is one of everything
        runs += _of_data("scenes-10k", seed, chosen)
    if objects is None:
        notes.append("without coco-objects: name its files to have it too")
    else:
        for seed in SEEDS:
            runs += [_on_objects(p, objects) for p in _of_data(OBJECTS, seed, chosen)]
    return runs, notes


def _on_objects(planned: Planned, objects: Data) -> Planned:
    """The run on the files of coco-objects, with a share of the captions that gives about as many steps as scenes."""
    changes = {"data_name": objects.name, "data_images": objects.images, "data_first": 0.25}
    return Planned(planned.data, planned.variant, override(planned.config, **changes))


def _of_data(data: str, seed: int, losses: list[str]) -> list[Planned]:
    """Every one of these losses; on scenes reduced data for MH and SAM, short embeddings for label distances."""
    runs: list[Planned] = []
    euclidean = {"model_similarity": "euclidean", "loss_settings": {"similarity": "euclidean"}}

    def plan(variant: str, loss: str, **changes: object) -> None:
        found = override(configured(loss, data), **{**SMALL, **changes}, train_seed=seed)
        runs.append(Planned(data, variant, found))

    for name in losses:
        plan(label(name), name)
    if "log_ratio" in losses:
        plan(EUCLIDEAN, "log_ratio", **euclidean)
    if data == OBJECTS:
        return runs
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
    """The configuration of a loss on some data: the file ``configs/DATA/LOSS.toml``, else that of scenes.

    The facts of an image are known of scenes only: on other data ``match`` becomes half of CIDEr-D, which of captions
    of different images is rarely above 2.
    """
    if (FOLDER / data / f"{loss}.toml").is_file():
        return start.configured(loss, f"{data}/{loss}", data=data)
    found = override(start.configured(loss, data=data), loss_fingerprint=fingerprint(loss))
    if not data.startswith("scenes") and found.loss.relevance == "match":
        return override(found, loss_relevance="cider", loss_scale=0.5, loss_own="one")
    return found


SUITES = {
    suite.name: suite
    for suite in (
        Suite("smoke", "every loss on 200 scenes; fails when one does not learn", _smoke, must_learn=True),
        Suite("small", "every loss, three seeds, and whether the papers' claims hold", _small, claims=True),
    )
}
