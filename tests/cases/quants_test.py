"""Weight formats: random blocks decoded by plain Python, from the layouts in the headers of
ops/include/weft/ops/formats, and values that encoders must restore, see quants.json."""

import random
import struct
import unittest

from case_support import load
from codec_test import npy, numbers
from support import SystemTest

E2M1 = [0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6]


def f16(data):
    return struct.unpack("<e", data)[0]


def nibbles(data):
    return [b & 15 for b in data] + [b >> 4 for b in data]


def fields(data, bits, per_byte):
    """The n-th field of every byte, for n = 0, 1, ..."""
    return [b >> (bits * n) & (1 << bits) - 1 for n in range(per_byte) for b in data]


def fifth_bits(data):
    bits = int.from_bytes(data, "little")
    return [(bits >> i & 1) << 4 for i in range(32)]


def q4_0(b):
    return [f16(b[:2]) * (q - 8) for q in nibbles(b[2:])]


def q4_1(b):
    return [f16(b[:2]) * q + f16(b[2:4]) for q in nibbles(b[4:])]


def q5_0(b):
    return [f16(b[:2]) * ((q | h) - 16) for q, h in zip(nibbles(b[6:]), fifth_bits(b[2:6]))]


def q5_1(b):
    return [f16(b[:2]) * (q | h) + f16(b[2:4]) for q, h in zip(nibbles(b[8:]), fifth_bits(b[4:8]))]


def q8_0(b):
    return [f16(b[:2]) * q for q in struct.unpack("<32b", b[2:])]


def q2_k(b):
    d, low = f16(b[80:82]), f16(b[82:84])
    codes = fields(b[16:48], 2, 4) + fields(b[48:80], 2, 4)
    return [d * (b[i // 16] & 15) * q - low * (b[i // 16] >> 4) for i, q in enumerate(codes)]


def q4_k(b):
    d, low, s, out = f16(b[:2]), f16(b[2:4]), b[4:16], []
    scales = [x & 63 for x in s[:4]] + [s[i + 8] & 15 | (s[i] >> 6) << 4 for i in range(4)]
    mins = [x & 63 for x in s[4:8]] + [s[i + 8] >> 4 | (s[i + 4] >> 6) << 4 for i in range(4)]
    codes = [q for g in range(4) for q in nibbles(b[16 + 32 * g:48 + 32 * g])]
    for i, q in enumerate(codes):
        out.append(d * scales[i // 32] * q - low * mins[i // 32])
    return out


def q6_k(b):
    d, scales, codes = f16(b[208:]), struct.unpack("<16b", b[192:208]), []
    for h in range(2):
        low = nibbles(b[64 * h:64 * h + 64])
        high = fields(b[128 + 32 * h:160 + 32 * h], 2, 4)
        codes += [x | y << 4 for x, y in zip(low, high)]
    return [d * scales[i // 16] * (q - 32) for i, q in enumerate(codes)]


def tq2_0(b):
    return [f16(b[64:]) * (q - 1) for q in fields(b[:32], 2, 4) + fields(b[32:64], 2, 4)]


def q1_0(b):
    return [f16(b[:2]) * (1 if b[2 + i // 8] >> i % 8 & 1 else -1) for i in range(128)]


def q2_0(b):
    return [f16(b[:2]) * ((b[2 + i // 4] >> 2 * (i % 4) & 3) - 1) for i in range(64)]


def mxfp4(b):
    return [2.0 ** (b[0] - 127) * E2M1[q] for q in nibbles(b[1:])]


def ue4m3(s):
    return s % 8 * 2.0 ** -9 if s < 8 else 2.0 ** (s // 8 - 7) * (1 + s % 8 / 8)


def nvfp4(b):
    return [ue4m3(b[s]) * E2M1[q] for s in range(4) for q in nibbles(b[4 + 8 * s:12 + 8 * s])]


def bf16(b):
    return [struct.unpack("<f", bytes(2) + b)[0]]


def f16_value(b):
    return [f16(b)]


class Quants(SystemTest):
    def decode(self, name, data, n):
        path, out = self.folder / "x.bin", self.folder / "x.npy"
        path.write_bytes(data)
        self.runs("weft", "codec", "decode", name, path, out, "--shape", f"1,{n}")
        return list(numbers(out))

    def encode(self, name, values):
        path, out = self.folder / "y.npy", self.folder / "y.bin"
        path.write_bytes(npy(1, len(values), values))
        self.runs("weft", "codec", "encode", name, path, out)
        return out.read_bytes()

    def block(self, case, rng):
        """Random bytes with small numbers where a block has floats."""
        data = bytearray(rng.randbytes(case["bytes"]))
        for place in case.get("f16_at", []):
            data[place:place + 2] = struct.pack("<e", rng.uniform(-0.1, 0.1))
        for place, low, high in case.get("bytes_at", []):
            data[place] = rng.randint(low, high)
        return bytes(data)

    def test_decoders(self):
        for case in load("quants.json")["decode"]:
            with self.subTest(case["type"]):
                rng = random.Random(case["type"])
                blocks = [self.block(case, rng) for _ in range(4)]
                want = [x for b in blocks for x in globals()[case["python"]](b)]
                self.assertEqual(len(want), 4 * case["weights"])
                got = self.decode(case["type"], b"".join(blocks), len(want))
                # At most four roundings to binary32 of terms below `largest`.
                largest = max(map(abs, want)) * 2
                worst = max(abs(x - y) for x, y in zip(got, want))
                self.assertLessEqual(worst, 4 * 2**-24 * largest)

    def test_encoders_keep_what_the_format_can_hold(self):
        for case in load("quants.json")["exact"]:
            with self.subTest(case["type"]):
                values = [case["values"][i % len(case["values"])] for i in range(256)]
                data = self.encode(case["type"], values)
                self.assertEqual(self.decode(case["type"], data, 256), values)

    def test_errors_are_within_half_a_step(self):
        for case in load("quants.json")["steps"]:
            with self.subTest(case["type"]):
                rng = random.Random(7)
                values = [rng.uniform(-1, 1) for _ in range(512)]
                got = self.decode(case["type"], self.encode(case["type"], values), 512)
                for i in range(0, 512, case["group"]):
                    x, y = values[i:i + case["group"]], got[i:i + case["group"]]
                    span = max(x) - min(x) if case["span"] == "range" else max(map(abs, x))
                    worst = max(abs(a - b) for a, b in zip(x, y))
                    self.assertLessEqual(worst, case["bound"] * span)


if __name__ == "__main__":
    unittest.main()
