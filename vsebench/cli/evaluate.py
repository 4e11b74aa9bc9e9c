"""``vsebench eval``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .results import report_format
from .shared import (
    Interval,
    NoPerQuery,
    PerQuery,
    ReportCi,
    ReportOutput,
    ReportStyle,
    Resamples,
    Seed,
    Threads,
    deliver_report,
)
from .systems import systems_of, together
from .terminal import Json, NoProgress, Quiet, Terminal, command

if TYPE_CHECKING:
    from ..report.report import Report


@command
def run(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE",
            help="Embeddings: .npz, .npy, .safetensors, .pt, .h5, .parquet, or a folder of shards. Each file that "
            "holds images and texts is a system (NAME=FILE names it); a file that holds images only and the file of "
            "texts behind it are one.",
        ),
    ] = None,
    texts: Annotated[
        Path | None, typer.Option(help="The text vectors, when FILE has those of the images only.")
    ] = None,
    scores: Annotated[
        Path | None, typer.Option(help="A score matrix instead: one row an image, one column a text.")
    ] = None,
    retrieved: Annotated[
        list[str] | None,
        typer.Option(
            "--run",
            help="Retrieved lists instead: a TREC run or eccv-style JSON; FILE, i2t=FILE or t2i=FILE. Repeatable.",
        ),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(help="coco-5k, coco-1k, f30k, custom, or one of `vsebench data list`; by default the ids decide."),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            help="Names, suites (recall, 1k, eccv, cxc, cs, ncs, sr, ndcg) or all, separated by commas; "
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
        Path | None,
        typer.Option(help="The captions, for splits whose captions are not known here (.jsonl, .csv, .txt, ...)."),
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
    similarity: Annotated[str, typer.Option(help="auto, cosine or dot.")] = "auto",
    ties: Annotated[
        str, typer.Option(help="index (canonical), optimistic, pessimistic, expected or mean-rank.")
    ] = "index",
    no_positive: Annotated[str, typer.Option(help="Queries without positives: skip, or count a miss.")] = "skip",
    short_lists: Annotated[
        str, typer.Option(help="Metrics deeper than the retrieved lists: refuse, or count a miss.")
    ] = "refuse",
    run_order: Annotated[
        str, typer.Option(help="Order of TREC runs: score (largest first) or rank (the rank column).")
    ] = "score",
    captions_per_image: Annotated[
        int | None, typer.Option(min=1, help="Texts an image, in order, for files without ids.")
    ] = None,
    image_key: Annotated[str | None, typer.Option(help="Name of the image array in FILE.")] = None,
    text_key: Annotated[str | None, typer.Option(help="Name of the text array in FILE.")] = None,
    scores_key: Annotated[str | None, typer.Option(help="Name of the score array.")] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Evaluate input at chance or misread, with a warning instead of an error.")
    ] = False,
    per_query: PerQuery = None,
    output: ReportOutput = None,
    style: ReportStyle = "terminal",
    details: Annotated[
        bool,
        typer.Option(
            "--details",
            help="LaTeX of several systems: also a table for each set of judgements or gains, not only one.",
        ),
    ] = False,
    only: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN=VALUE",
            help="Evaluate a part as a gallery of its own: lang=de by a column of --captions, or FILE:COLUMN=VALUE.",
        ),
    ] = None,
    save_run: Annotated[
        Path | None,
        typer.Option(
            help="Write the top of every ranking: eccv-style JSON, or TREC runs with scores (.trec, .run, .txt), one a "
            "direction, as in top.i2t.trec."
        ),
    ] = None,
    depth: Annotated[int | None, typer.Option(min=1, help="Items a query in --save-run; 100 by default.")] = None,
    lists: Annotated[
        int,
        typer.Option(
            min=0,
            max=100,
            help="Items a query to keep in the JSON report, with scores and gains, so that a page can show "
            "them; 0 for none.",
        ),
    ] = 0,
    ci: ReportCi = 95,
    resamples: Resamples = 1000,
    seed: Seed = 0,
    interval: Interval = "bca",
    no_per_query: NoPerQuery = False,
    threads: Threads = None,
    backend: Annotated[
        str,
        typer.Option(help="What ranks: auto, numpy, torch (torch:cpu, torch:cuda:1) or faiss; never changes a digit."),
    ] = "auto",
    memory: Annotated[
        str | None,
        typer.Option(help="Memory that the process may take, such as 2G; larger vectors are mapped from their file."),
    ] = None,
    engine: Annotated[
        str, typer.Option(help="Where it is computed: local, or dask (docs/distributed.md); never changes a digit.")
    ] = "local",
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Of --engine dask: a running scheduler; by default one on this machine."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Of --engine dask: processes on this machine; 2 by default.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Of --engine dask: continue an evaluation that was ended.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """Rank, measure and report: one system, or several in a joint table.

    FILE holds image and text vectors; a file whose ids are COCO test ids selects its split by itself.
    """
    terminal = Terminal(as_json, quiet, no_progress)
    import vsebench

    from ..evaluation import saved_run
    from ..evaluation.provenance import with_command
    from ..report.per_query import check_path

    chosen = report_format(terminal, style, output)
    if per_query is not None:
        check_path(per_query)
    systems = systems_of(files or [], texts, scores is not None or bool(retrieved), save_run)
    runs = {} if save_run is None else saved_run.files(save_run)
    reports: dict[str, Report] = {}
    for name, images, second in systems:
        with terminal.progress("ranking" if len(systems) == 1 else f"ranking {name}") as progress:
            report = vsebench.evaluate(
                images, second, scores=scores, run=retrieved or None, split=split, metrics=metrics,
                gains=() if gains is None else ",".join(gains), captions=captions, human_data=human_data,
                direction=direction, similarity=similarity, ties=ties, no_positive=no_positive,
                short_lists=short_lists, run_order=run_order, captions_per_image=captions_per_image,
                image_key=image_key, text_key=text_key, scores_key=scores_key, only=only, trust=trust,
                save_run=save_run,
                depth=depth, lists=lists, ci=ci, resamples=resamples, seed=seed, interval=interval, threads=threads,
                backend=backend, memory=memory, engine=engine, scheduler=scheduler, workers=workers,
                resume=resume, progress=progress,
            )  # fmt: skip
        reports[name] = with_command(report)
        result = together(reports, metrics, details)  # systems that differ are refused before the next one is evaluated
    written = [f"--run {d}={path}" for d, path in runs.items() if d and path.exists()]
    if written:
        terminal.note(f"· the rankings are TREC runs, to be read back with {' '.join(written)}")
    deliver_report(terminal, result, output, per_query, no_per_query, chosen)
