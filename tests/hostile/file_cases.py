"""Files that are cut or damaged, have wrong headers, or have another format."""

from __future__ import annotations

import os
import pickle
from functools import partial

import numpy as np

from tests.hostile.damage import Bomb, X, Y, cut, flipped, folder_of, npy, shards, two_files, zipped
from tests.hostile.good import Case, npz, raw

ODD = b"\0\1\2\3"
CUTS = (0.001, 0.01, 0.5, 0.99, 0.9999)
IMAGES_ONLY = {"image_embeddings.npy": npy(X)}

CASES = [
    *(Case(f"npz cut at {share:.0%}", partial(cut, share=share)) for share in CUTS),
    Case("flipped bit, stored", lambda f: flipped(f, False)),
    Case("flipped bit, deflated", lambda f: flipped(f, True)),
    Case("npy header lies, too many rows", lambda f: two_files(f, npy(Y, (4000, 16)))),
    Case("npy header lies, too few rows", lambda f: two_files(f, npy(Y, (30, 16)))),
    Case("npy header lies, astronomical", lambda f: two_files(f, npy(Y, (10**15, 10**15)))),
    Case("npy header lies, negative", lambda f: two_files(f, npy(Y, (-1, 16)))),
    Case("npy header runs code", lambda f: two_files(f, npy(Y, descr="__import__('os').getcwd()"))),
    Case("npy header nested", lambda f: two_files(f, b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 65535)),
    Case("npy of nothing but magic", lambda f: two_files(f, b"\x93NUMPY")),
    Case("npy of a later version", lambda f: two_files(f, b"\x93NUMPY\x09\x00" + b" " * 64)),
    Case("npy cut", lambda f: two_files(f, npy(Y)[:-4])),
    Case("npy of objects", lambda f: two_files(f, npy(np.zeros((300, 16)), descr="|O"))),
    Case("texts of the wrong kind", lambda f: two_files(f, b"PK\x05\x06" + bytes(18))),
    Case("npz member header lies", lambda f: zipped(f, {**IMAGES_ONLY, "text_embeddings.npy": npy(Y, (9, 16))})),
    Case("npz without texts", lambda f: zipped(f, IMAGES_ONLY)),
    Case("npz of nothing", lambda f: raw(f, "e.npz", b"PK\x05\x06" + bytes(18))),
    Case("zip without arrays", lambda f: zipped(f, {"readme.txt": b"hello"})),
    Case("malicious pickle", lambda f: raw(f, "e.npz", pickle.dumps(Bomb(f)))),
    Case("malicious pickle, protocol 0", lambda f: raw(f, "e.pkl", pickle.dumps(Bomb(f), protocol=0))),
    Case("malicious object array", lambda f: npz(f, image_embeddings=np.array([[Bomb(f)] * 2] * 60, object))),
    Case("malicious ids", lambda f: npz(f, image_ids=np.array([Bomb(f)] * 60, object))),
    Case("zero bytes", lambda f: raw(f, "e.npz", b"")),
    Case("git-lfs pointer", lambda f: raw(f, "e.npz", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n")),
    Case("error page", lambda f: raw(f, "e.npz", b"<!DOCTYPE html><title>404</title>")),
    Case("random bytes", lambda f: raw(f, "e.npz", bytes(range(200, 256)) * 9)),
    Case("text", lambda f: raw(f, "e.npz", b"0.1 0.2 0.3\n")),
    Case("gzip", lambda f: raw(f, "e.npz.gz", b"\x1f\x8b\x08" + bytes(30))),
    Case("picture", lambda f: raw(f, "e.npz", b"\x89PNG\r\n\x1a\n" + bytes(30))),
    Case("missing file", lambda f: ["eval", str(f / "none.npz")]),
    Case("missing file with a neighbour", lambda f: ["eval", npz(f, "embeddings.npz")[1][:-1]]),
    Case("missing folder", lambda f: ["eval", str(f / "gone" / "e.npz")]),
    Case("name too long", lambda f: ["eval", str(f / ("x" * 5000))]),
    Case("device", lambda f: ["eval", "/dev/zero"]),
    Case("empty folder", lambda f: folder_of(f / "shards")),
    Case("folder without a shard", lambda f: shards(f, [], [0])),
    Case("shard left out", lambda f: shards(f, [0, 2], [0])),
    Case("name with brackets", lambda f: raw(f, "[bold]x[red].npz", ODD)),
    Case("name with a newline", lambda f: raw(f, "two\nlines.npz", ODD)),
    Case("name with an escape", lambda f: raw(f, "\x1b[31mred\x07.npz", ODD)),
    Case("name in unicode", lambda f: raw(f, "вектор 🐈.npz", ODD)),
    Case("name in no encoding", lambda f: raw(f, os.fsdecode(b"\xff\xfe.npz"), ODD)),
]
