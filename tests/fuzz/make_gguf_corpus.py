#!/usr/bin/env python3
"""Writes the corpus of the GGUF fuzz target: small files with different features, valid and
invalid."""
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cases"))
from gguf_writer import (  # noqa: E402
    ARRAY, CODES, F32, F64, I32, I64, STRING, U16, U32, U64, U8, packed, text)


def entry(key, kind, v):
    return text(key) + struct.pack("<I", kind) + packed(kind, v)


def tensor(name, dims, kind, offset):
    return text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, offset)


def file(entries=(), tensors=(), data=0, version=3, counts=None, alignment=32, magic=b"GGUF"):
    n_tensors, n_entries = counts or (len(tensors), len(entries))
    head = magic + struct.pack("<IQQ", version, n_tensors,
                               n_entries) + b"".join(entries) + b"".join(tensors)
    return head + bytes(-len(head) % alignment if data else 0) + bytes(i % 251 for i in range(data))




def rank_file(tensors=("a", "b"), types=(8, 0), shapes=(4, 32, 0, 0, 3, 0, 0, 0), parts=("a[2:4]",),
              rank=1):
    """That of rank 1 of 2: the last rows of one of two tensors."""
    return file([ARCH, entry("weft.split.sharding", STRING, "tp=2"),
                 entry("weft.split.min_elems", U64, 0), entry("weft.split.rank", U32, rank),
                 entry("weft.split.ranks", U32, 2), entry("weft.split.sample", U64, 7),
                 entry("weft.split.tensors", ARRAY, (STRING, tensors)),
                 entry("weft.split.types", ARRAY, (I64, types)),
                 entry("weft.split.shapes", ARRAY, (I64, shapes)),
                 entry("weft.split.parts", ARRAY, (STRING, parts))],
                [tensor("part.0", [32, 2], 8, 0)], 68)


ARCH = entry("general.architecture", STRING, "llama")
FILES = {
    "empty": b"",
    "magic": b"GGUF",
    "bare": file(),
    "bare-v2": file(version=2),
    "version-1": file(version=1),
    "version-4": file(version=4),
    "big-endian": file(version=3 << 24),
    "old-ggml": file(magic=b"tjgg"),
    "arch": file([ARCH]),
    **{f"kind-{kind}": file([entry("k", kind, 1)]) for kind in CODES},
    **{f"array-{kind}": file([entry("k", ARRAY, (kind, [0, 1, 1]))]) for kind in CODES},
    "strings": file([entry("k", ARRAY, (STRING, ["a", "", b"\xff\x00\n"]))]),
    "array-empty": file([entry("k", ARRAY, (STRING, []))]),
    "nested": file([entry("k", ARRAY, (ARRAY, [(STRING, ["x"]), (U16, [1, 2])]))]),
    "nested-3": file([entry("k", ARRAY, (ARRAY, [(ARRAY, [(U8, [1])])]))]),
    "nested-5": file([entry("k", ARRAY, (ARRAY, [(ARRAY, [(ARRAY, [(ARRAY, [(U8, [1])])])])]))]),
    "float-odd": file([entry("a", F32, float("nan")), entry("b", F64, float("inf")),
                       entry("c", ARRAY, (F64, [1e300]))]),
    "integers-wide": file([entry("a", U64, 2**64 - 1), entry("b", I64, -(2**63)),
                           entry("c", ARRAY, (U64, [2**63]))]),
    "key-twice": file([entry("k", U8, 1), entry("k", U8, 2)]),
    "key-empty": file([entry("", U8, 1)]),
    "key-odd": file([entry(b"\xff\x1b[0m", U8, 1)]),
    "kind-unknown": file([text("k") + struct.pack("<IQ", 13, 0)]),
    "count-max": file(counts=(2**64 - 1, 2**64 - 1)),
    "array-count-max": file([text("k") + struct.pack("<IIQ", ARRAY, U32, 2**64 - 1)]),
    "tensor": file([ARCH], [tensor("t", [4], 0, 0)], 16),
    "tensor-rank-0": file([], [tensor("t", [], 0, 0)], 4),
    "tensor-rank-4": file([], [tensor("t", [2, 3, 1, 2], 1, 0)], 24),
    "tensor-rank-5": file([], [tensor("t", [1] * 5, 0, 0)], 4),
    "tensor-zero": file([], [tensor("t", [0], 0, 0)], 4),
    "tensor-wide": file([], [tensor("t", [2**32, 2**32], 0, 0)], 4),
    "tensor-blocks": file([], [tensor("a", [32, 2], 8, 0), tensor("b", [256], 12, 96)], 240),
    "tensor-half-block": file([], [tensor("t", [16], 8, 0)], 34),
    "tensor-no-codec": file([], [tensor("t", [256], 22, 0)], 82),
    "tensor-removed": file([], [tensor("t", [32], 4, 0)], 20),
    "tensor-overlap": file([], [tensor("a", [9], 0, 0), tensor("b", [1], 0, 32)], 64),
    "tensor-gap": file([], [tensor("a", [1], 0, 0), tensor("b", [1], 0, 128)], 132),
    "tensor-backward": file([], [tensor("a", [1], 0, 32), tensor("b", [1], 0, 0)], 64),
    "tensor-cut": file([], [tensor("t", [32], 0, 0)], 100),
    "tensor-wrap": file([], [tensor("t", [32], 0, 2**64 - 32)], 128),
    "tensor-twice": file([], [tensor("t", [1], 0, 0), tensor("t", [1], 0, 32)], 64),
    "alignment-64": file([entry("general.alignment", U32, 64)],
                         [tensor("a", [1], 0, 0), tensor("b", [1], 0, 64)], 68, alignment=64),
    "alignment-3": file([entry("general.alignment", U32, 3)]),
    "alignment-text": file([entry("general.alignment", STRING, "32")]),
    "split": file([entry("split.no", U16, 0), entry("split.count", U16, 2),
                   entry("split.tensors.count", I32, 1)]),
    "split-later": file([entry("split.no", U16, 1), entry("split.count", U16, 2)]),
    "rank": rank_file(),
    "rank-other": rank_file(rank=2),
    "rank-parts": rank_file(parts=("a", "b")),
    "rank-shape": rank_file(shapes=(2**62, 32, 0, 0, 3, 0, 0, 0)),
    "rank-twice": rank_file(tensors=("a", "a")),
}

if __name__ == "__main__":
    target = pathlib.Path(__file__).resolve().parent / "corpus" / "gguf"
    target.mkdir(parents=True, exist_ok=True)
    for name, content in FILES.items():
        (target / f"{name}.bin").write_bytes(content)
