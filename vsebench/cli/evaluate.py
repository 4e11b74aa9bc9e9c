"""``vsebench eval``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .shared import Resamples, Seed, Threads, check_output
from .talk import Json, NoProgress, Quiet, Talk, command

if TYPE_CHECKING:
    from ..evaluation.options import Options
    from ..evaluation.run import Evaluation


@command
def run(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="Embeddings: .npz, .npy (with --texts), .safetensors, .pt, .h5, .parquet, or a folder of shards."
        ),
    ] = None,
    texts: Annotated[Path | None, typer.Option(help="The text vectors, when FILE is an .npy of image vectors.")] = None,
    scores: Annotated[
        Path | None, typer.Option(help="A score matrix instead: one row an image, one column a text.")
    ] = None,
    retrieved: Annotated[
        list[str] | None,
        typer.Option(
            "--run",
            help="Retrieved lists instead: a TREC run or eccv-style JSON; i2t=FILE or t2i=FILE says which. Repeatable.",
        ),
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="coco-5k, coco-1k, f30k or custom; by default the ids decide.")
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            help="Names, families (recall, 1k, eccv, cxc, cs, ncs, sr, ndcg) or all, separated by commas; "
            "see `vsebench metrics`."
        ),
    ] = None,
    gains: Annotated[
        list[str] | None,
        typer.Option(
            help="Graded relevance: cider (the default), spice, sentence:NAME, bow:FILE, wmd:FILE or FILE.npy, with "
            "settings as in cider:tokens=whitespace. Repeatable, or separated by commas."
        ),
    ] = None,
    captions: Annotated[
        Path | None, typer.Option(help="The captions, for splits whose captions are not known here (.jsonl, .txt).")
    ] = None,
    human_data: Annotated[
        Path | None,
        typer.Option(
            "--human-data",
            "--data",
            help="Folder of the CxC ratings, for --metrics cxc-intra (image-image, text-text).",
        ),
    ] = None,
    direction: Annotated[str, typer.Option(help="both, i2t or t2i.")] = "both",
    similarity: Annotated[str, typer.Option(help="auto, cosine or dot; with --labels also euclidean.")] = "auto",
    ties: Annotated[str, typer.Option(help="index (canonical), optimistic, pessimistic or mean.")] = "index",
    no_positive: Annotated[str, typer.Option(help="Queries without positives: skip, or count a miss.")] = "skip",
    short_lists: Annotated[
        str, typer.Option(help="Metrics deeper than the retrieved lists: refuse, or count a miss.")
    ] = "refuse",
    captions_per_image: Annotated[
        int | None, typer.Option(min=1, help="Texts an image, in order, for files without ids.")
    ] = None,
    image_key: Annotated[str | None, typer.Option(help="Name of the image array in FILE.")] = None,
    text_key: Annotated[str | None, typer.Option(help="Name of the text array in FILE.")] = None,
    score_key: Annotated[str | None, typer.Option("--scores-key", help="Name of the score array.")] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Rank a file that looks misread; the suspicion becomes a warning.")
    ] = False,
    per_query: Annotated[
        Path | None, typer.Option(help="Write every metric's per-query values (.parquet or .csv).")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Also write the JSON report to a file.")] = None,
    save_run: Annotated[Path | None, typer.Option(help="Write the top of every ranking as eccv-style JSON.")] = None,
    depth: Annotated[int | None, typer.Option(min=1, help="Items a query in --save-run; 100 by default.")] = None,
    ci: Annotated[
        float,
        typer.Option(min=0, max=99.99, help="Level of the intervals in percent, by resampling images; 0 for none."),
    ] = 95,
    resamples: Resamples = 1000,
    seed: Seed = 0,
    interval: Annotated[str, typer.Option(help="How the interval is read off: percentile or bca.")] = "percentile",
    no_per_query: Annotated[
        bool, typer.Option("--no-per-query", help="Leave the per-query values out of the JSON report.")
    ] = False,
    labels: Annotated[
        Path | None, typer.Option(help="Continuous labels of the items of FILE, which holds one modality: nDCG, MLD.")
    ] = None,
    label_distance: Annotated[
        str | None,
        typer.Option(help="euclidean, precomputed, miou[:ignore=N] or wmd:VECTORS; by default the shape decides."),
    ] = None,
    queries: Annotated[
        str | None,
        typer.Option(help="With --labels: how many of the first items are queries, or a file that names them."),
    ] = None,
    keep_queries: Annotated[
        bool, typer.Option("--keep-queries", help="With --labels: the other queries stay in the gallery.")
    ] = False,
    modality: Annotated[str | None, typer.Option(help="With --labels: image (the default) or caption.")] = None,
    labels_key: Annotated[str | None, typer.Option(help="Name of the array in the file of labels.")] = None,
    threads: Threads = None,
    as_json: Json = False,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """Rank, measure and report.

    FILE holds image and text vectors; a file whose ids are COCO test ids selects its split by itself.
    """
    talk = Talk(as_json, quiet, no_progress)
    from ..errors import UsageError
    from ..report import per_query as per_query_file

    given = [x for x in (file, scores, retrieved) if x]
    if len(given) != 1:
        what = "nothing to evaluate" if not given else "more than one of FILE, --scores and --run"
        raise UsageError(what, fix="give embeddings (vsebench eval FILE), or --scores FILE, or --run FILE")
    for only, value, needs in (
        ("--texts", texts, file),
        ("--scores-key", score_key, scores),
        ("--image-key", image_key, file),
        ("--text-key", text_key, file),
    ):
        if value is not None and not needs:
            raise UsageError(f"{only} has no meaning here", fix="leave it out")
    judged_by_labels = {
        "--label-distance": label_distance, "--queries": queries, "--modality": modality, "--labels-key": labels_key,
        "--keep-queries": keep_queries or None,
    }  # fmt: skip
    for only, told in judged_by_labels.items():
        if told is not None and labels is None:
            raise UsageError(f"{only} has no meaning without --labels", fix="leave it out")
    similarities = ("auto", "cosine", "dot") if labels is None else ("auto", "euclidean", "cosine", "dot")
    for flag, chosen, allowed in (
        ("--direction", direction, ("both", "i2t", "t2i")),
        ("--modality", modality or "image", ("image", "caption")),
        ("--similarity", similarity, similarities),
        ("--no-positive", no_positive, ("skip", "miss")),
        ("--short-lists", short_lists, ("refuse", "miss")),
        ("--interval", interval, ("percentile", "bca")),
    ):
        if chosen not in allowed:
            raise UsageError(f"{flag} is '{chosen}'", fix=f"use {', '.join(allowed[:-1])} or {allowed[-1]}")
    if depth is not None and save_run is None:
        raise UsageError(
            f"--depth {depth} has no meaning without --save-run", fix="add --save-run FILE, or leave it out"
        )
    if per_query is not None:
        per_query_file.check_path(per_query)
    for path in (output, save_run):
        check_output(path)
    inputs = [
        p for p in (file, texts, scores, captions, labels, *(_named(x)[1] for x in retrieved or ())) if p is not None
    ]
    _check_apart(inputs, [p for p in (per_query, output, save_run) if p is not None])
    if labels is not None:
        from . import labels as by_labels

        by_labels.refuse(
            {
                "--scores": scores,
                "--run": retrieved,
                "--texts": texts,
                "--split": split,
                "--gains": gains,
                "--captions": captions,
                "--captions-per-image": captions_per_image,
                "--save-run": save_run,
                "--trust": trust,
                "--human-data": human_data,
                "--direction": None if direction == "both" else direction,
                "--ties": None if ties == "index" else ties,
                "--no-positive": None if no_positive == "skip" else no_positive,
                "--short-lists": None if short_lists == "refuse" else short_lists,
            }
        )
        if file is None:
            raise UsageError("--labels needs the vectors of the items", fix="vsebench eval FILE --labels LABELS")
        by_labels.run(
            talk, file, labels, label_distance=label_distance, queries=queries, keep_queries=keep_queries,
            modality=modality or "image", metrics=metrics, similarity=similarity, key=image_key or text_key,
            labels_key=labels_key, threads=threads, ci=ci, resamples=resamples, seed=seed, interval=interval,
            per_query=per_query, output=output, no_per_query=no_per_query,
        )  # fmt: skip
        return
    specs = tuple(part.strip() for text in gains or () for part in text.split(",") if part.strip())
    if gains is not None and not specs:
        raise UsageError("--gains is empty", fix="name a graded relevance, such as cider, or leave it out")
    _check_names(metrics, split, specs)
    from ..evaluation.options import Options

    with talk.progress("ranking") as progress:
        options = Options(
            metrics=metrics,
            directions=("i2t", "t2i") if direction == "both" else (direction,),  # type: ignore[arg-type]
            similarity=similarity,
            ties=ties,
            empty=no_positive,
            short=short_lists,
            captions_per_image=captions_per_image,
            trust=trust,
            depth=(depth or 100) if save_run else None,
            threads=threads,
            gains=specs,
            caption_texts=captions,
            human_data=human_data,
            ci=ci,
            resamples=resamples,
            seed=seed,
            interval=interval,
            progress=progress,
        )
        done = _evaluate(file, texts, scores, retrieved, split, image_key, text_key, score_key, options)
    report = done.report
    for note in report.notes:
        talk.note(f"· {note}")
    for warning in report.warnings:
        talk.warn(warning)
    from ..report import document

    text = document.dumps(report, not no_per_query) if talk.json or output is not None else ""
    if per_query is not None:
        per_query_file.write(report, per_query)
    if save_run is not None:
        _save_run(done, save_run)
    if output is not None:
        from ..data.atomic import write_atomically

        with write_atomically(output, "w") as stream:
            stream.write(text + "\n")
    if talk.json:
        talk.emit(text)
    else:
        from ..report.terminal import show

        show(report, talk.out)


def _evaluate(
    file: Path | None,
    texts: Path | None,
    scores: Path | None,
    retrieved: list[str] | None,
    split: str | None,
    image_key: str | None,
    text_key: str | None,
    score_key: str | None,
    options: Options,
) -> Evaluation:
    from ..evaluation import provenance
    from ..evaluation import run as evaluation

    clock = provenance.start()
    if file is not None:
        done = evaluation.evaluate_file(
            file, texts=texts, split=split, image_key=image_key, text_key=text_key, options=options
        )
    elif scores is not None:
        done = evaluation.evaluate_scores(scores, split=split, key=score_key, options=options)
    else:
        named = [_named(x) for x in retrieved or ()]
        done = evaluation.evaluate_runs(
            [p for _, p in named],
            directions=[d for d, _ in named],  # type: ignore[misc]
            split=split,
            options=options,
        )
    return provenance.attach(done, clock, options.threads)


def _named(text: str) -> tuple[str | None, Path]:
    head, equals, tail = text.partition("=")
    return (head, Path(tail)) if equals and head in ("i2t", "t2i") else (None, Path(text))


def _check_apart(inputs: list[Path], outputs: list[Path]) -> None:
    """Refuse to write over an input, or two results into one file."""
    from ..errors import UsageError

    taken = {p.resolve() for p in inputs}
    for path in outputs:
        if path.resolve() in taken:
            what = "is an input of this command" if path.exists() else "is named for two results"
            raise UsageError(f"cannot be written: it {what}", where=path, fix="give every result a file of its own")
        taken.add(path.resolve())


def _check_names(metrics: str | None, split: str | None, gains: tuple[str, ...]) -> None:
    """Find a misspelt metric, relevance or split before a large file is read."""
    from ..data.splits import catalogue as splits
    from ..evaluation.graded import KNOWN, choose
    from ..evaluation.measure import INTRA
    from ..metrics import expand
    from ..metrics.declare import separate

    chosen = choose(gains)
    words = separate(metrics or "")
    rest = [w for w in words if w.lower() != INTRA]
    if rest or (metrics is not None and not words):
        expand(rest, ["gt"], tuple(chosen), KNOWN)
    if split is not None and split != "custom":
        splits.declared(split)


def _save_run(done: Evaluation, path: Path) -> None:
    import json

    from ..data.atomic import write_atomically

    document = {}
    for direction, top in done.lists.items():
        queries, items = done.split.image_ids, done.split.caption_ids
        if direction == "t2i":
            queries, items = items, queries
        document[direction] = {str(q): row for q, row in zip(queries.tolist(), items[top.items].tolist(), strict=True)}
    with write_atomically(path, "w") as stream:
        json.dump(document, stream)
