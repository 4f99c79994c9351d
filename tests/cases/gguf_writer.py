"""Writes small GGUF files, version 3, as the GGUF specification describes them."""

import array
import struct

U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
CODES = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "?", U64: "Q",
         I64: "q", F64: "d"}
ALIGNMENT = 32


def text(value):
    """A string of the format. Bytes need not be UTF-8."""
    raw = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(raw)) + raw


def packed(kind, value):
    if kind == STRING:
        return text(value)
    if kind == ARRAY:
        element, items = value
        return struct.pack("<IQ", element, len(items)) + b"".join(packed(element, i) for i in items)
    return struct.pack("<" + CODES[kind], value)


def kind_of(value):
    """The type of a value: text, bool, u32, f32, or a list of one of them (integers as i32)."""
    if isinstance(value, list):
        element = kind_of(value[0])
        return I32 if element == U32 else element
    return {str: STRING, bool: BOOL, int: U32, float: F32}[type(value)]


def entry(key, value):
    kind = kind_of(value)
    if isinstance(value, list):
        return text(key) + struct.pack("<I", ARRAY) + packed(ARRAY, (kind, value))
    return text(key) + struct.pack("<I", kind) + packed(kind, value)


def aligned(n):
    return -(-n // ALIGNMENT) * ALIGNMENT


def floats(values):
    return array.array("f", values).tobytes()


def typed(values):
    """The number of a tensor's type and its data: I32 for arrays of integers, otherwise F32."""
    whole = isinstance(values, array.array) and values.typecode == "i"
    return (26, values.tobytes()) if whole else (0, floats(values))


def gguf(metadata, tensors=()):
    """The bytes of a file. `tensors`: name, dimensions with the fastest first, values."""
    entries = b"".join(entry(k, v) for k, v in metadata.items())
    infos, data = b"", b""
    for name, dims, values in tensors:
        kind, raw = typed(values)
        infos += text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, len(data))
        data += raw
        data += bytes(aligned(len(data)) - len(data))
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata)) + entries + infos
    return head + bytes(aligned(len(head)) - len(head)) + data
