"""Fixes of commands: wrong options, and files that are not what the command reads."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tests import choice_files, reports
from tests.followed.case import I2T, By, Followed, S, X, Y, after, hostile, save, write
from vsebench.errors import BadInput, MissingPackage, VsebenchError

R1 = "--json --metrics R@1 --ci 0"
ROWS = "".join(
    f'{{"image_id": {1000 + n // 5}, "caption_id": {5000 + n}, "caption": "a thing {n}"}}\n' for n in range(300)
)


@cache
def stored(name: str) -> str:
    """A report: ``a``, ``b``, ``c`` have the same settings, ``ties`` has another tie rule, ``part`` on other images."""
    noise = {"a": 0.3, "b": 1.0, "c": 2.0, "ties": 0.3, "part": 0.3}[name]
    more: dict[str, Any] = {"ties": {"ties": "optimistic"}, "part": {"world": reports.split(20)}}.get(name, {})
    return str(reports.report(noise, metrics="R@1,R@5,MRR", **more).to_json(True))


def made(*names: str) -> Callable[[], None]:
    """Write these reports."""
    return after(*(lambda name=name: write(f"{name}.json", stored(name))() for name in names))


def both(*names: str) -> Callable[[], None]:
    """Images and texts in two files, or the scores as ``s.npy``."""

    def make() -> None:
        np.save("x.npy", X), np.save("y.npy", Y), np.save("s.npy", S)

    return make


E, ONE, ALL = save("e.npz"), made("a"), made("a", "b", "c")
JUDGED = write("q.csv", "image_id,caption_id,grade\n1000,5000,1\n1001,5005,0\n")
CORRELATE = "correlate flickr8k --data f --gains binary --tasks expert"
NUMBERS = "id,x,y\n" + "".join(f"{100 + n},{n % 3},{n % 2}\n" for n in range(24))
KINDS = "caption_id,x\n" + "".join(f"{1100 + n},{'long' if n % 2 else 'short'}\n" for n in range(72))
GOOD = (E, f"eval e.npz {R1}", I2T)

FOLLOWED: list[Followed | By] = [
    Followed(
        r"^save the images as image_embeddings and the texts as text_embeddings "
        r"\(or use --key image=NAME, --key text=NAME\)$",
        hostile("sides exchanged, by shape"),
        (
            hostile(
                "sides exchanged, by shape",
                "--key",
                "image=text_embeddings",
                "--key",
                "text=image_embeddings",
                "--json",
            ),
            I2T,
        ),
    ),
    Followed(
        r"^give a file of embeddings, or --scores FILE, or --run FILE$",
        "eval",
        GOOD,
        (both(), f"eval --scores s.npy {R1}", I2T),
    ),
    Followed(
        r"^give image_of_text \(the image id of every text\), a file of captions with these ids "
        r"\(--captions FILE\), or build their data set",
        hostile("ids that do not give the image"),
        (write("c.jsonl", ROWS), save("e.npz", image_of_text=None), f"eval e.npz --captions c.jsonl {R1}", I2T),
        GOOD,
    ),
    Followed(
        r"^save a separate id for every image, such as its file name; pass ids of classes as "
        r"judgements: --judgements NAME=labels:FILE$",
        hostile("ids with markup and escapes"),
        GOOD,
    ),
    Followed(
        r"^(encode exactly the (image|text)s of the split; or give|save the image ids of the data set, or "
        r"give) (--split custom|split='custom')",
        hostile("unknown image ids as coco-5k"),
        (hostile("unicode ids", "--split", "custom"), None),
    ),
    Followed(
        r"^leave out --scores if the file holds embeddings, or pass the name of the scores with --key scores=KEY$",
        hostile("embeddings given as scores"),
        GOOD,
        (save("s.npz", scores=S, more=S), f"eval --scores s.npz --key scores=scores {R1}", I2T),
    ),
    Followed(
        r"^give the file of the texts after it: vsebench eval images.npy texts.npy; or give it with --scores if ",
        (both(), "eval x.npy"),
        (both(), f"eval x.npy y.npy {R1}", I2T),
        (both(), f"eval --scores s.npy {R1}", I2T),
    ),
    Followed(
        r"^give a score matrix with --scores, or name them with --key image=KEY and --key text=KEY, or give the file ",
        hostile("npz of scores given as embeddings"),
        (save("s.npz", scores=S), f"eval --scores s.npz {R1}", I2T),
        (save("e.npz", images=X, b=Y), f"eval e.npz --key image=images --key text=b {R1}", I2T),
    ),
    Followed(
        r"^name them with --key text=KEY, or give the file of the text vectors after the file of the image vectors$",
        (save("e.npz", images=X, b=Y[:7, :3], c=Y), "eval e.npz"),
        (f"eval e.npz --key text=c {R1}", I2T),
        (both(), f"eval x.npy y.npy {R1}", I2T),
    ),
    Followed(
        r"^save one vector per row \(join batches\), or give the scores of the model with --scores$",
        hostile("region features"),
        (both(), f"eval --scores s.npy {R1}", I2T),
    ),
    Followed(
        r"^save it with np.save, one row per image and one column per text; retrieved lists are given with --run$",
        hostile("scores in JSON"),
        (both(), f"eval --scores s.npy {R1}", I2T),
    ),
    Followed(
        r"^save text as UTF-8, and arrays as \.npz, \.npy",
        hostile("picture"),
        (
            lambda: np.savez(
                "embeddings.npz",
                image_embeddings=X,
                text_embeddings=Y,
                image_ids=np.arange(60),
                text_ids=np.array([f"{n // 5}#{n % 5}" for n in range(300)]),
            ),
            f"eval embeddings.npz {R1}",
            I2T,
        ),
    ),
    Followed(
        r"^save vectors as .npz, .* such as np.savez\(...\); give retrieved lists with (--)?run, and saved reports to ",
        (ONE, "eval a.json"),
        (lambda: np.savez("e.npz", image_embeddings=X, text_embeddings=Y), f"eval e.npz {R1}", I2T),
        (ALL, "compare a.json b.json", "R@1"),
    ),
    Followed(
        r"^give --metrics R@1,eccv or all$", hostile("--metrics ,"), (hostile("--metrics ,", "--metrics", "all"), None)
    ),
    Followed(
        r"^known: gt, .*or give your own judgements: --judgements (nope|rouge|mine)=FILE$",
        hostile("--metrics nope:R@1"),
        (write("q.tsv", "query 0 item 1\n"), hostile("--metrics nope:R@1", "--judgements", "nope=q.tsv"), BadInput),
    ),
    Followed(
        r"^give --split NAME of `vsebench data list`, or --judgements NAME=FILE",
        hostile("run as custom"),
        (
            write("q.txt", "1 0 2 1\n"),
            write("r.json", {"i2t": {"1": [2]}}),
            "eval --run r.json --split custom --judgements m=i2t:q.txt --metrics m:R@1 --json --ci 0",
            1.0,
        ),
    ),
    Followed(
        r"^leave out --ties, --similarity and --save-run$",
        hostile("run with --ties"),
        (
            write("q.txt", "1 0 2 1\n"),
            write("r.json", {"i2t": {"1": [2]}}),
            "eval --run r.json --judgements m=i2t:q.txt --metrics m:R@1 --json --ci 0",
            1.0,
        ),
    ),
    Followed(r"^give another --out$", (write("x", "mine"), "demo --out x"), ("demo --out new --fail", VsebenchError)),
    Followed(
        r"^end the name in .json, .tex, .md, .html, .csv, or add --format$",
        (ALL, "compare a.json b.json -o x.txt"),
        ("compare a.json b.json -o x.md", "R@1"),
        ("compare a.json b.json -o x.txt --format latex", "R@1"),
    ),
    Followed(
        r"^options go after the command: vsebench eval FILE --json$",
        (E, "--json eval e.npz"),
        ("eval e.npz --json", I2T),
    ),
    Followed(
        r"^evaluate both with the same settings; --force compares them anyway$",
        (made("a", "ties"), "compare a.json ties.json"),
        ("compare a.json ties.json --force", "R@1"),
        (ALL, "compare a.json b.json", "R@1"),
    ),
    Followed(
        r"^evaluate both on one test set; vsebench compare --mean compares over.* --force compares the shared queries",
        (made("a", "b", "part"), "compare a.json part.json"),
        ("compare a.json b.json", "R@1"),
        ("compare A:one=a.json B:one=b.json A:two=part.json B:three=part.json --mean", "3 test sets"),
        ("compare a.json part.json --force", "R@1"),
    ),
    Followed(
        r"^evaluate it with --metrics R@[37], or take one that all reports have, such as R@5, R@1",
        (ALL, "compare a.json b.json --metrics R@3"),
        ("compare a.json b.json --metrics R@5", "R@5"),
    ),
    Followed(
        r"^give two metrics, as in --pair R@1,eccv:mAP@R$",
        (ALL, "agree a.json b.json c.json --pair R@1"),
        ("agree a.json b.json c.json --pair R@1,MRR", "MRR"),
    ),
    Followed(
        r"^use: vsebench correlate cxc --embeddings FILE$",
        "correlate flickr8k --embeddings x.npz",
        ("correlate cxc --embeddings x.npz", MissingPackage),
    ),
    Followed(
        r"^leave out (--no-positive miss|no_positive='miss'), or the metric$",
        (E, JUDGED, "eval e.npz --judgements m=q.csv --metrics m:MeanR --no-positive miss"),
        ("eval e.npz --judgements m=q.csv --metrics m:MeanR --json", None),
        ("eval e.npz --no-positive miss --metrics R@1", None),
    ),
    Followed(
        r"^slice --direction (i2t or t2i|t2i)$",
        (ONE, write("t.csv", KINDS), "slice a.json --by column --file t.csv --direction i2t"),
        ("slice a.json --by column --file t.csv --direction t2i", "long"),
    ),
    Followed(
        r"^name one with --column NAME$",
        (ONE, write("t.csv", NUMBERS), "slice a.json --by column --file t.csv"),
        ("slice a.json --by column --file t.csv --column y", "R@1"),
    ),
    Followed(
        r"^give --file FILE$",
        (ONE, "slice a.json --by column"),
        (write("t.csv", KINDS), "slice a.json --by column --file t.csv", "long"),
    ),
    Followed(
        r"^give them with --captions FILE \(.txt with one caption per line, or .jsonl\)$",
        (ONE, "slice a.json --by length"),
        (write("c.txt", "a b\nc\nd e f\n" * 24), "slice a.json --by length --captions c.txt", "R@1"),
    ),
    Followed(
        r"^write --(metrics|metrics or --mean|trust|key), or see vsebench (eval|compare) --help$",
        (E, "eval e.npz -m R@1"),
        (f"eval e.npz {R1}", I2T),
        ("eval --help", "--metrics"),
        ("compare --help", "--metrics"),
    ),
    Followed(
        r"^write --key image=NAME or --key text=NAME or --key scores=NAME$",
        (E, "eval e.npz --key picture=x"),
        (f"eval e.npz --key image=image_embeddings --key text=text_embeddings {R1}", I2T),
    ),
    Followed(
        r"^give a number: --set near=N$",
        "data build scenes --set near",
        ("data build scenes --set near=0.1 --set images=20", None),
    ),
    Followed(
        r"^see vsebench (eval|correlate|data verify|inspect|export|unimodal|spice) --help$",
        "correlate",
        *(
            (f"{name} --help", "Usage")
            for name in ("eval", "correlate", "data verify", "inspect", "export", "unimodal", "spice")
        ),
    ),
    Followed(
        r"^leave out --baseline: its text, image and group scores are 0$",
        (
            lambda: choice_files.winoground(Path("w")),
            write("s.npy", np.zeros((5, 2))),
            "choice s.npy --set w --baseline length",
        ),
        ("choice s.npy --set w", BadInput),
    ),
    Followed(
        r"^evaluate them one by one, or pass the --split that they share$",
        (E, save("o.npz", image_embeddings=X[:40], text_embeddings=Y[:200]), "eval e.npz o.npz"),
        (f"eval e.npz {R1}", I2T),
        ("eval o.npz", None),
    ),
    By(r"^send it to a file \(> FILE\), or set a file with --output$", "test_streams_and_exit_codes_of_a_process"),
    By(r"^leave out 'x='$", "test_the_document_is_what_compare_reads"),
    Followed(
        r"^run vsebench eval with --captions, --run or --judgements NAME=FILE: its error says how to write the file$",
        (write("t.txt", "q1 Q0 d1 1 9.5\n" + "q1 Q0 d2 2 8.5 tag\n" * 9), "inspect t.txt"),
        (E, "eval e.npz --judgements m=t.txt --metrics m:R@1", BadInput),
    ),
    By(r"^give JSON lines with these ids \(\.jsonl\), or a column of lengths", "test_captions_of_a_custom_split"),
    Followed(r"^run: vsebench --help$", "help", ("--help", "Usage")),
    Followed(
        r"^separate names by commas: --metrics R@1,R@5,recall$",
        (E, "eval e.npz --metrics R@1 R@5 recall"),
        ("eval e.npz --metrics R@1,R@5,recall --json", I2T),
    ),
    Followed(
        r"^did you mean 'coco-5k' or 'coco-1k'\?; or build a custom data set: vsebench data build "
        r"coco-9k --from ",
        "data build coco-9k",
        (write("captions.jsonl", ROWS), "data build coco-9k --from captions.jsonl", None),
    ),
    Followed(
        r"^leave it out, or generate scenes: vsebench data build scenes --set (near=0.1|leaks=1)$",
        "data build coco-5k --set near=0.1",
        ("data build scenes --set near=0.1 --set images=20", None),
    ),
]
