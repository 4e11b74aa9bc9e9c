"""Files that are cut or damaged, have wrong headers, decompress to huge sizes, or have another format."""

from __future__ import annotations

import os
import pickle
from functools import partial

import numpy as np

from tests.hostile.case import Case
from tests.hostile.damage import (
    Bomb,
    X,
    Y,
    bomb,
    cut,
    fifo,
    flipped,
    folder_of,
    many,
    npy,
    odd_name,
    pickled_ids,
    pickled_npz,
    real_bomb,
    shards,
    two_files,
    zipped,
)
from tests.hostile.good import npz, raw

CUTS = (0.001, 0.01, 0.5, 0.99, 0.9999)
IMAGES_ONLY = {"image_embeddings.npy": npy(X)}

CASES = [
    *(
        Case(f"npz cut at {share:.0%}", partial(cut, share=share), 3, "e.npz: is a truncated or damaged zip archive")
        for share in CUTS
    ),
    Case("flipped bit, stored", lambda f: flipped(f, False), 3, "e.npz: is a truncated or damaged .npz"),
    Case("flipped bit, deflated", lambda f: flipped(f, True), 3, "e.npz: is a truncated or damaged .npz"),
    Case(
        "npy header lies, too many rows",
        lambda f: two_files(f, npy(Y, (4000, 16))),
        3,
        "t.npy: the file declares shape (4000, 16) float32 (256,000 bytes) but holds 19,200 bytes",
    ),
    Case(
        "npy header lies, too few rows",
        lambda f: two_files(f, npy(Y, (30, 16))),
        3,
        "t.npy: the file declares shape (30, 16) float32 (1,920 bytes) but holds 19,200 bytes of",
    ),
    Case(
        "npy header lies, astronomical",
        lambda f: two_files(f, npy(Y, (10**15, 10**15))),
        3,
        "t.npy: the file declares shape (1000000000000000, 1000000000000000) float32",
    ),
    Case(
        "npy header lies, negative",
        lambda f: two_files(f, npy(Y, (-1, 16))),
        3,
        "t.npy: the file has no readable .npy header",
    ),
    Case(
        "npy header runs code",
        lambda f: two_files(f, npy(Y, descr="__import__('os').getcwd()")),
        3,
        "t.npy: the file has no readable .npy header",
    ),
    Case(
        "npy header nested",
        lambda f: two_files(f, b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 65535),
        3,
        "t.npy: the file has no readable .npy header",
    ),
    Case(
        "npy of nothing but magic",
        lambda f: two_files(f, b"\x93NUMPY"),
        3,
        "t.npy: the file has no readable .npy header",
    ),
    Case(
        "npy cut",
        lambda f: two_files(f, npy(Y)[:-4]),
        3,
        "t.npy: the file declares shape (300, 16) float32 (19,200 bytes) but holds 19,196 bytes of",
    ),
    Case(
        "npy of objects",
        lambda f: two_files(f, npy(np.zeros((300, 16)), descr="|O")),
        3,
        "t.npy: holds pickled Python objects, which are never read: they could run code",
    ),
    Case(
        "texts of the wrong kind",
        lambda f: two_files(f, b"PK\x05\x06" + bytes(18)),
        3,
        "t.npy: is an archive without any array",
    ),
    Case(
        "npz member header lies",
        lambda f: zipped(f, {**IMAGES_ONLY, "text_embeddings.npy": npy(Y, (9, 16))}),
        3,
        "e.npz: array 'text_embeddings' declares shape (9, 16) float32 (576 bytes) but holds",
    ),
    Case(
        "npz without texts",
        lambda f: zipped(f, IMAGES_ONLY),
        3,
        "e.npz: has no text vectors under a known name; it holds image_embeddings (60, 16) float32",
    ),
    Case(
        "npz of nothing",
        lambda f: raw(f, "e.npz", b"PK\x05\x06" + bytes(18)),
        3,
        "e.npz: is an archive without any array",
    ),
    Case(
        "zip without arrays",
        lambda f: zipped(f, {"readme.txt": b"hello"}),
        3,
        "e.npz: is a zip archive without arrays (it holds readme.txt)",
    ),
    Case(
        "zip bomb that lies", bomb, 3, "e.npz: array 'image_embeddings' takes 489 bytes in the file and would expand to"
    ),
    Case(
        "zip bomb",
        real_bomb,
        3,
        "e.npz: array 'image_embeddings' takes 1,395,664 bytes in the file and would expand to",
    ),
    Case("five thousand members", many, 3, "e.npz: holds 5,000 arrays"),
    Case(
        "malicious pickle",
        lambda f: raw(f, "e.npz", pickle.dumps(Bomb(f))),
        3,
        "e.npz: is a pickle; pickles can run any code when they are read, so they never are",
    ),
    Case(
        "malicious pickle, protocol 0",
        lambda f: raw(f, "e.pkl", pickle.dumps(Bomb(f), protocol=0)),
        3,
        "e.pkl: is named as a pickle (.pkl); pickles can run any code when they are read, so they",
    ),
    Case(
        "malicious object array",
        pickled_npz,
        3,
        "e.npz: array 'image_embeddings' (60, 2) is object, expected float16, float32 or float64",
    ),
    Case("malicious ids", pickled_ids, 3, "e.npz: array 'image_ids' (60,) is object; ids are integers or strings"),
    Case("zero bytes", lambda f: raw(f, "e.npz", b""), 3, "e.npz: is empty (0 bytes)"),
    Case(
        "git-lfs pointer",
        lambda f: raw(f, "e.npz", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
        3,
        "e.npz: is a git-lfs pointer, not the data itself",
    ),
    Case(
        "error page",
        lambda f: raw(f, "e.npz", b"<!DOCTYPE html><title>404</title>"),
        3,
        "e.npz: is a web page, perhaps the error page of a failed download",
    ),
    Case(
        "random bytes",
        lambda f: raw(f, "e.npz", bytes(range(200, 256)) * 9),
        3,
        "e.npz: is in no format that vsebench reads (it starts with",
    ),
    Case("text", lambda f: raw(f, "e.npz", b"0.1 0.2 0.3\n"), 3, "e.npz: is a text file, not a file of embeddings"),
    Case(
        "gzip",
        lambda f: raw(f, "e.npz.gz", b"\x1f\x8b\x08" + bytes(30)),
        3,
        "e.npz.gz: is gzip-compressed, not a file of embeddings",
    ),
    Case(
        "picture",
        lambda f: raw(f, "e.npz", b"\x89PNG\r\n\x1a\n" + bytes(30)),
        3,
        "e.npz: is a PNG picture, which vsebench does not read",
    ),
    Case("missing file", lambda f: ["eval", str(f / "none.npz")], 3, "none.npz: no such file"),
    Case(
        "missing file with a neighbour",
        lambda f: ["eval", npz(f, "embeddings.npz")[1][:-1]],
        3,
        "embeddings.np: no such file",
    ),
    Case("missing folder", lambda f: ["eval", str(f / "gone" / "e.npz")], 3, "gone/e.npz: no such file"),
    Case(
        "name too long",
        lambda f: ["eval", str(f / ("x" * 5000))],
        3,
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    ),
    Case("named pipe", fifo, 3, "e.npz: is a named pipe, not a regular file"),
    Case("device", lambda f: ["eval", "/dev/zero"], 3, "/dev/zero: is a device, not a regular file"),
    Case("empty folder", lambda f: folder_of(f / "shards"), 3, "shards: has no folder img_emb"),
    Case("folder without a shard", lambda f: shards(f, [], [0]), 3, "img_emb: has no img_emb_0.npy"),
    Case(
        "shard left out", lambda f: shards(f, [0, 2], [0]), 3, "img_emb: shard img_emb_1.npy is missing (found up to 2)"
    ),
    Case(
        "name with brackets",
        lambda f: odd_name(f, "[bold]x[red].npz"),
        3,
        "[bold]x[red].npz: is in no format that vsebench reads (it starts with b'\\x00\\x01\\x02\\x03')",
    ),
    Case(
        "name with a newline",
        lambda f: odd_name(f, "two\nlines.npz"),
        3,
        "two\\nlines.npz: is in no format that vsebench reads (it starts with b'\\x00\\x01\\x02\\x03')",
    ),
    Case(
        "name with an escape",
        lambda f: odd_name(f, "\x1b[31mred\x07.npz"),
        3,
        "\\x1b[31mred\\x07.npz: is in no format that vsebench reads (it starts with",
    ),
    Case(
        "name in unicode",
        lambda f: odd_name(f, "вектор 🐈.npz"),
        3,
        "вектор 🐈.npz: is in no format that vsebench reads (it starts with b'\\x00\\x01\\x02\\x03')",
    ),
    Case(
        "name in no encoding",
        lambda f: odd_name(f, os.fsdecode(b"\xff\xfe.npz")),
        3,
        "\\udcff\\udcfe.npz: is in no format that vsebench reads (it starts with b'\\x00\\x01\\x02\\x03')",
    ),
]
