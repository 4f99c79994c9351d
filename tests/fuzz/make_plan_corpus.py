#!/usr/bin/env python3
"""Writes the corpus of the plan fuzz target: GGUF files without their data.

    make_plan_corpus.py MODEL.gguf ...
"""
import pathlib
import struct
import sys

SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
STRING, ARRAY = 8, 9


class Reader:
    """Finds the end of the metadata and the tensor list."""

    def __init__(self, data):
        self.data, self.at = data, 24

    def unpack(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values

    def skip_string(self):
        n_bytes, = self.unpack("Q")
        self.at += n_bytes

    def skip_value(self, kind):
        if kind == STRING:
            self.skip_string()
        elif kind == ARRAY:
            element, n = self.unpack("IQ")
            for _ in range(n):
                self.skip_value(element)
        else:
            self.at += SIZES[kind]


def without_data(data):
    n_tensors, n_entries = struct.unpack_from("<QQ", data, 8)
    reader = Reader(data)
    for _ in range(n_entries):
        reader.skip_string()
        reader.skip_value(reader.unpack("I")[0])
    for _ in range(n_tensors):
        reader.skip_string()
        rank, = reader.unpack("I")
        reader.at += 8 * rank + 12
    return data[:reader.at]


if __name__ == "__main__":
    target = pathlib.Path(__file__).resolve().parent / "corpus" / "plan"
    target.mkdir(parents=True, exist_ok=True)
    for path in map(pathlib.Path, sys.argv[1:]):
        (target / f"{path.stem}.bin").write_bytes(without_data(path.read_bytes()))
