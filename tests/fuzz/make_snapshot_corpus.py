#!/usr/bin/env python3
"""Writes the corpus of the snapshot fuzz target: small files without checksums, valid and invalid."""
import pathlib
import struct


def numbers(*values):
    return struct.pack(f"<{len(values)}Q", *values)


def state(row_bytes=4, tokens_per_row=64, first_row=0, n_bytes=8, lengths=(), n_lengths=None):
    n_lengths = len(lengths) if n_lengths is None else n_lengths
    return (numbers(row_bytes, tokens_per_row, first_row, n_bytes, n_lengths) +
            struct.pack(f"<{len(lengths)}q", *lengths))


def file(magic=b"weftsnp1", owner=b"1\nme", begin=0, tokens=(1, 2), n_tokens=None, states=None,
         n_states=None, contents=b"12345678abcd", header=None):
    states = [state(), state(tokens_per_row=0, n_bytes=4, lengths=(2,))] if states is None else states
    n_tokens = len(tokens) if n_tokens is None else n_tokens
    n_states = len(states) if n_states is None else n_states
    rest = (numbers(1, 2, 3, 4, 5, 6, 7, len(owner)) + owner + numbers(begin, n_tokens) +
            struct.pack(f"<{len(tokens)}i", *tokens) + numbers(n_states) + b"".join(states) +
            numbers(0, 0))
    n = len(magic) + 16 + len(rest)
    return magic + numbers(n if header is None else header, 0) + rest + contents


FILES = {
    "good": file(),
    "no-states": file(states=[], contents=b""),
    "no-tokens": file(tokens=()),
    "later": file(begin=70, states=[state(first_row=1), state(tokens_per_row=0, n_bytes=4, lengths=(71, 72))]),
    "begin-max": file(begin=2**64 - 1),
    "tokens-max": file(n_tokens=2**64 - 1),
    "tokens-wrap": file(n_tokens=2**62),
    "states-max": file(n_states=2**64 - 1),
    "states-one-more": file(n_states=3),
    "bytes-max": file(states=[state(n_bytes=2**64 - 1)]),
    "bytes-more": file(states=[state(n_bytes=13)]),
    "bytes-left": file(states=[state()]),
    "row-zero": file(states=[state(row_bytes=0), state(n_bytes=4)]),
    "lengths-max": file(states=[state(n_lengths=2**64 - 1)]),
    "lengths-wrap": file(states=[state(n_lengths=2**61)]),
    "lengths-descend": file(states=[state(), state(n_bytes=4, lengths=(2, 1))]),
    "lengths-beyond": file(states=[state(), state(n_bytes=4, lengths=(3,))]),
    "lengths-negative": file(states=[state(), state(n_bytes=4, lengths=(-1, 2))]),
    "header-max": file(header=2**64 - 1),
    "header-small": file(header=40),
    "header-all": file(header=len(file())),
    "magic": file(magic=b"weftsnp9"),
    "cut": file()[:-1],
    "more": file() + b"\0",
    "empty": b"",
}

target = pathlib.Path(__file__).resolve().parent / "corpus" / "snapshot"
target.mkdir(parents=True, exist_ok=True)
for name, content in FILES.items():
    (target / f"{name}.bin").write_bytes(content)
