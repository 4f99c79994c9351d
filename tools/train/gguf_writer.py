"""Writes and reads GGUF version 3 files, as far as this model needs them.

The bytes depend only on what is written: no dates, no padding with leftovers.
"""

import struct

import numpy as np

ALIGNMENT = 32
F32, Q8_0 = 0, 8
BLOCK = 32
_U32, _F32, _BOOL, _STRING, _ARRAY, _I32 = 4, 6, 7, 8, 9, 5


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _value(value) -> bytes:
    """A value with its type in front. bool, int (as u32), float (as f32), str, lists of str or
    int."""
    if isinstance(value, bool):
        return struct.pack("<IB", _BOOL, value)
    if isinstance(value, int):
        return struct.pack("<II", _U32, value)
    if isinstance(value, float):
        return struct.pack("<If", _F32, value)
    if isinstance(value, str):
        return struct.pack("<I", _STRING) + _string(value)
    if isinstance(value[0], str):
        return struct.pack("<IIQ", _ARRAY, _STRING, len(value)) + b"".join(map(_string, value))
    return struct.pack("<IIQ", _ARRAY, _I32, len(value)) + np.asarray(value, "<i4").tobytes()


def _pad(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % ALIGNMENT)


def quantize_q8_0(x: np.ndarray) -> bytes:
    """Blocks of 32: a half-precision scale, then 32 signed bytes."""
    blocks = np.asarray(x, np.float32).reshape(-1, BLOCK)
    d = np.abs(blocks).max(axis=1) / np.float32(127)
    with np.errstate(divide="ignore"):
        inverse = np.where(d > 0, np.float32(1) / d, np.float32(0))
    y = blocks * inverse[:, None]
    q = (np.sign(y) * np.floor(np.abs(y) + np.float32(0.5))).astype(np.int8)
    out = np.empty(len(blocks), dtype=[("d", "<f2"), ("q", "i1", BLOCK)])
    out["d"], out["q"] = d, q
    return out.tobytes()


def dequantize_q8_0(data: bytes, shape) -> np.ndarray:
    """The values that a Q8_0 tensor stands for, in double precision."""
    blocks = np.frombuffer(data, dtype=[("d", "<f2"), ("q", "i1", BLOCK)])
    return (blocks["d"].astype(np.float64)[:, None] * blocks["q"]).reshape(shape)


def write(path, keys: dict, tensors: dict):
    """Writes the file. `tensors` maps a name to (array, F32 or Q8_0); shapes are in row-major
    order."""
    head = struct.pack("<IIQQ", 0x46554747, 3, len(tensors), len(keys))
    for name, value in keys.items():
        head += _string(name) + _value(value)
    body = b""
    for name, (array, kind) in tensors.items():
        data = quantize_q8_0(array) if kind == Q8_0 else np.asarray(array, "<f4").tobytes()
        dims = array.shape[::-1]  # GGUF names the fastest dimension first
        head += _string(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, len(body))
        body += _pad(data)
    with open(path, "wb") as f:
        f.write(_pad(head) + body)


class _Reader:
    """Walks over the bytes of a file."""

    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def take(self, form: str):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values[0] if len(values) == 1 else values

    def string(self) -> str:
        size = self.take("Q")
        self.at += size
        return self.data[self.at - size:self.at].decode()

    def value(self, kind=None):
        kind = self.take("I") if kind is None else kind
        if kind == _ARRAY:
            item, count = self.take("IQ")
            return [self.value(item) for _ in range(count)]
        if kind == _STRING:
            return self.string()
        return self.take({_U32: "I", _F32: "f", _BOOL: "?", _I32: "i"}[kind])


def read(path):
    """The keys and the tensors (in double precision) of a file written by `write`."""
    with open(path, "rb") as f:
        r = _Reader(f.read())
    magic, version, tensor_count, key_count = r.take("IIQQ")
    if magic != 0x46554747 or version != 3:
        raise ValueError("not a GGUF version 3 file")
    keys = {}
    for _ in range(key_count):
        name = r.string()
        keys[name] = r.value()
    entries = []
    for _ in range(tensor_count):
        name, rank = r.string(), r.take("I")
        shape = [r.take("Q") for _ in range(rank)][::-1]
        entries.append((name, shape, *r.take("IQ")))
    base = r.at + -r.at % ALIGNMENT
    tensors = {}
    for name, shape, kind, offset in entries:
        count = int(np.prod(shape))
        size = count * 4 if kind == F32 else count // BLOCK * 34
        data = r.data[base + offset:base + offset + size]
        tensors[name] = (np.frombuffer(data, "<f4").astype(np.float64).reshape(shape)
                         if kind == F32 else dequantize_q8_0(data, shape))
    return keys, tensors
