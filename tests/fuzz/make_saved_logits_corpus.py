#!/usr/bin/env python3
"""Writes the corpus of the saved logits fuzz target: small files, valid and invalid."""
import pathlib
import struct


def row(scale, minimum, steps):
    steps = list(steps) + [0] * (len(steps) % 2)
    return struct.pack(f"<ff{len(steps)}H", scale, minimum, *steps)


def file(rows, window=4, n_vocab=3, n_windows=1, tokens=None, magic=b"_logits_"):
    tokens = range(window * n_windows) if tokens is None else tokens
    head = magic + struct.pack("<iii", window, n_vocab, n_windows)
    return head + b"".join(struct.pack("<i", t) for t in tokens) + b"".join(rows)


GOOD = row(1e-4, -6.6, [0, 30000, 65535])
NAN, INF = float("nan"), float("inf")
FILES = {
    "good": file([GOOD]),
    "two": file([GOOD, GOOD], n_windows=2),
    "even": file([row(1e-4, -6.6, [0, 65535])], n_vocab=2),
    "one-token": file([row(0, 0, [0])], n_vocab=1),
    "equal": file([row(0, -1.1, [0, 0, 0])]),
    "long": file([GOOD] * 4, window=10),
    "no-rows": file([]),
    "cut": file([GOOD])[:-1],
    "more": file([GOOD]) + b"\0",
    "scale-nan": file([row(NAN, -1, [0, 1, 2])]),
    "scale-negative": file([row(-1, -1, [0, 1, 2])]),
    "scale-inf": file([row(INF, -1, [0, 1, 2])]),
    "minimum-inf": file([row(0, -INF, [0, 1, 2])]),
    "minimum-far": file([row(1e30, -3e38, [0, 1, 2])]),
    "above-one": file([row(1, -1, [0, 1, 2])]),
    "window-2": file([], window=2),
    "window-max": file([], window=2**31 - 1, tokens=[]),
    "windows-max": file([], n_windows=2**31 - 1, tokens=[]),
    "vocab-max": file([GOOD], n_vocab=2**31 - 1),
    "vocab-0": file([], n_vocab=0),
    "negative": file([], window=-1, tokens=[]),
    "magic": file([GOOD], magic=b"_Logits_"),
    "empty": b"",
    "short": b"_logits_\1",
}

target = pathlib.Path(__file__).resolve().parent / "corpus" / "saved_logits"
target.mkdir(parents=True, exist_ok=True)
for name, content in FILES.items():
    (target / f"{name}.bin").write_bytes(content)
