#!/usr/bin/env python3
"""Writes the corpus of the imatrix fuzz target: small files of both formats, valid and invalid."""
import pathlib
import struct

from make_gguf_corpus import ARRAY, STRING, U32, entry, tensor


def gguf(tensors, kind="imatrix", chunk_size=512, meta=True):
    """`tensors`: (name, dims, type, bytes)."""
    entries = [entry("general.type", STRING, kind)]
    if meta:
        entries += [entry("imatrix.datasets", ARRAY, (STRING, ["text"])),
                    entry("imatrix.chunk_count", U32, 3)]
        entries += [entry("imatrix.chunk_size", U32, chunk_size)]
    infos, data = b"", b""
    for name, dims, dtype, content in tensors:
        data += bytes(-len(data) % 32)
        infos += tensor(name, dims, dtype, len(data))
        data += content
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(entries)) + b"".join(entries) + infos
    return head + bytes(-len(head) % 32) + data


def floats(*values):
    return struct.pack(f"<{len(values)}f", *values)


def old(entries, end=b"", count=None):
    """`entries`: (name, calls, values)."""
    out = struct.pack("<i", len(entries) if count is None else count)
    for name, calls, values in entries:
        out += struct.pack("<i", len(name)) + name.encode() + struct.pack("<ii", calls,
                                                                          len(values)) + floats(*values)
    return out + end


def pair(sums, counts):
    return [("w.in_sum2", [len(sums) // len(counts), len(counts)], 0, floats(*sums)),
            ("w.counts", [1, len(counts)], 0, floats(*counts))]


FILES = {
    "gguf": gguf(pair([1, 2, 3, 4], [2])),
    "gguf-experts": gguf(pair([1, 2, 3, 4, 5, 6], [2, 0, 7])),
    "gguf-rank-1": gguf([("w.in_sum2", [2], 0, floats(1, 2)), ("w.counts", [1], 0, floats(1))]),
    "gguf-none": gguf([]),
    "gguf-model": gguf(pair([1], [1]), kind="model"),
    "gguf-no-meta": gguf(pair([1], [1]), meta=False),
    "gguf-chunk-0": gguf(pair([1], [1]), chunk_size=0),
    "gguf-no-counts": gguf(pair([1, 2], [1])[:1]),
    "gguf-counts-3": gguf([("w.in_sum2", [2], 0, floats(1, 2)),
                           ("w.counts", [3], 0, floats(1, 1, 1))]),
    "gguf-nan": gguf(pair([1, float("nan")], [1])),
    "gguf-negative": gguf(pair([1, -1], [1])),
    "gguf-huge": gguf(pair([3e38, 3e38], [9e15])),
    "gguf-count-huge": gguf(pair([1], [1e30])),
    "gguf-f16": gguf([("w.in_sum2", [2], 1, bytes(4)), ("w.counts", [1], 0, floats(1))]),
    "gguf-suffix-only": gguf([(".in_sum2", [1], 0, floats(1)), (".counts", [1], 0, floats(1))]),
    "old": old([("a.weight", 2, [1, 2, 3]), ("b.weight", 2, [4])]),
    "old-end": old([("a", 2, [1, 2])], struct.pack("<i", 7) + struct.pack("<i", 4) + b"text"),
    "old-end-long": old([("a", 2, [1, 2])], struct.pack("<ii", 7, 0) + b"more"),
    "old-end-cut": old([("a", 2, [1, 2])], struct.pack("<ii", 7, 400)),
    "old-calls-0": old([("a", 0, [1])]),
    "old-calls-max": old([("a", 2**31 - 1, [3e38])]),
    "old-calls-negative": old([("a", -1, [1])]),
    "old-count-max": old([("a", 1, [1])], count=2**31 - 1),
    "old-count-negative": old([], count=-5),
    "old-twice": old([("a", 1, [1]), ("a", 1, [1])]),
    "old-name-long": old([("a" * 65, 1, [1])]),
    "old-name-empty": old([("", 1, [1])]),
    "old-values-max": struct.pack("<ii", 1, 1) + b"a" + struct.pack("<ii", 1, 2**31 - 1)
         + floats(1, 2),
    "old-inf": old([("a", 1, [float("inf")])]),
    "empty": b"",
    "short": b"GG",
}

if __name__ == "__main__":
    target = pathlib.Path(__file__).resolve().parent / "corpus" / "imatrix"
    target.mkdir(parents=True, exist_ok=True)
    for name, content in FILES.items():
        (target / f"{name}.bin").write_bytes(content)
