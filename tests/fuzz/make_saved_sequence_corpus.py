#!/usr/bin/env python3
"""Writes the corpus of the saved sequence fuzz target: small files without checksums, valid and
invalid."""
import pathlib
import struct


def block(content):
    return struct.pack("<Q", len(content)) + content


def file(tokens=(1, 2), note=b"note", states=(b"12345678", b""), magic=b"weftseq3", n_tokens=None,
         n_states=None, lengths=(1, 2), n_lengths=None):
    n_tokens = len(tokens) if n_tokens is None else n_tokens
    n_states = len(states) if n_states is None else n_states
    origin = (0x1234,) if magic == b"weftseq1" else (2, 3, 4, 5)
    head = magic + struct.pack(f"<{len(origin) + 1}Q", *origin, n_tokens) + struct.pack(f"<{len(tokens)}i", *tokens)
    n_lengths = len(lengths) if n_lengths is None else n_lengths
    before = struct.pack(f"<Q{len(lengths)}q", n_lengths, *lengths) if magic == b"weftseq3" else b""
    return (head + block(note) + struct.pack("<Q", n_states) +
            b"".join(before + block(state) for state in states))


FILES = {
    "good": file(),
    "nothing": file(tokens=(), note=b"", states=()),
    "no-lengths": file(lengths=()),
    "lengths-max": file(n_lengths=2**64 - 1),
    "lengths-wrap": file(n_lengths=2**61),
    "lengths-descend": file(lengths=(2, 1)),
    "lengths-beyond": file(lengths=(1, 3)),
    "lengths-negative": file(lengths=(-1, 2)),
    "version-2": file(magic=b"weftseq2"),
    "cut": file()[:-1],
    "more": file() + b"\0",
    "magic": file(magic=b"weftseq9"),
    "version-1": file(magic=b"weftseq1"),
    "tokens-max": file(n_tokens=2**64 - 1),
    "tokens-wrap": file(n_tokens=2**62),
    "states-max": file(n_states=2**64 - 1),
    "states-one-more": file(n_states=3),
    "negative": file(tokens=(-1,)),
    "empty": b"",
}

target = pathlib.Path(__file__).resolve().parent / "corpus" / "saved_sequence"
target.mkdir(parents=True, exist_ok=True)
for name, content in FILES.items():
    (target / f"{name}.bin").write_bytes(content)
