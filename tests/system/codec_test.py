"""`weft codec`: one quantized format on one matrix."""

import math
import struct
import unittest

from support import SystemTest

ROWS, COLS = 3, 512
HEADER = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({ROWS}, {COLS}), }}"


def npy(rows, cols, values):
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {cols}), }}"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + struct.pack(f"<{len(values)}f", *values)


def numbers(path):
    data = path.read_bytes()
    body = data[10 + struct.unpack("<H", data[8:10])[0]:]
    return struct.unpack(f"<{len(body) // 4}f", body)


class Codec(SystemTest):
    def setUp(self):
        super().setUp()
        self.x = [math.sin(i * i) * (1 + i % 7) for i in range(ROWS * COLS)]
        self.input, self.out, self.back = (self.folder / n for n in ("x.npy", "x.bin", "back.npy"))
        self.input.write_bytes(npy(ROWS, COLS, self.x))
        self.weights = self.folder / "w.npy"
        self.weights.write_bytes(npy(1, COLS, [1 + i % 5 for i in range(COLS)]))

    def round_trip(self, name, *args):
        self.runs("weft", "codec", "encode", name, self.input, self.out, *args)
        self.runs("weft", "codec", "decode", name, self.out, self.back, "--shape", f"{ROWS},{COLS}")
        back = numbers(self.back)
        self.assertEqual(len(back), len(self.x))
        return math.sqrt(sum((a - b) ** 2 for a, b in zip(back, self.x)) / sum(a * a for a
                                                                               in self.x))

    def test_round_trips(self):
        for name, bound in [("F32", 1e-7), ("F16", 1e-3), ("Q8_0", 1e-2), ("Q6_K", 3e-2),
                            ("Q4_K", 0.1), ("Q2_K", 0.4)]:
            with self.subTest(name=name):
                self.assertLessEqual(self.round_trip(name), bound)
        self.assertEqual(self.out.stat().st_size, ROWS * COLS // 256 * 84)

    def test_importance_counts(self):
        self.round_trip("Q4_K")
        plain = self.out.read_bytes()
        self.assertLess(self.round_trip("Q4_K", "--imatrix", self.weights), 0.1)
        self.assertNotEqual(self.out.read_bytes(), plain)

    def npy_of_shape(self, shape):
        return npy(ROWS, COLS, self.x).replace(f"({ROWS}, {COLS})".encode(),
                                               shape.encode()).replace(
            struct.pack("<H", len(HEADER)), struct.pack("<H", len(HEADER) - len(f"({ROWS}, {COLS})")
                                                        + len(shape)), 1)

    def encode_refuses(self, text, *args, name="Q4_K"):
        self.refuses(1, text, "weft", "codec", "encode", name, self.input, self.out, *args)
        self.assertFalse(self.out.exists())

    def test_unknown_type(self):
        self.encode_refuses("known: F32, F16", name="Q4_Z")

    def test_rows_that_are_no_blocks(self):
        self.input.write_bytes(npy(2, 100, self.x[:200]))
        self.encode_refuses("whole blocks of 256", name="Q4_K")

    def test_numbers_that_are_none(self):
        for bad in (math.nan, math.inf, -math.inf):
            self.x[COLS + 5] = bad
            self.input.write_bytes(npy(ROWS, COLS, self.x))
            self.encode_refuses("element [1, 5]")

    def test_broken_files(self):
        good = self.input.read_bytes()
        for text, data in [("does not begin", b""), ("does not begin", b"GGUF" * 10),
                           ("ends within its header", good[:30]),
                           ("bytes of elements", good[:-4]), ("bytes of elements", good + b"1234"),
                           ("another type", good.replace(b"<f4", b"<f8")),
                           ("Fortran order", good.replace(b"False", b"True ")),
                           ("its shape is malformed", good.replace(b"(3, 512)", b"[3, 512]")),
                           ("positive", good.replace(b"(3, 512)", b"(-3,512)")),
                           ("positive", self.npy_of_shape("(99999999999999999999,)")),
                           ("bytes of elements", self.npy_of_shape("(9223372036854775807, 8)")),
                           ("dimensions", good.replace(b"(3, 512)", b"(3,1,512)"))]:
            with self.subTest(text=text):
                self.input.write_bytes(data)
                self.encode_refuses(text)

    def test_importances_that_do_not_fit(self):
        for text, rows, values in [("one importance per column", 1, [1] * 8),
                                   ("must not be negative", 1, [1] * 9 + [-1] + [1] * (COLS - 10)),
                                   ("must be finite", 1, [math.nan] * COLS),
                                   ("one importance per column", 2, [1] * 2 * COLS)]:
            with self.subTest(text=text):
                self.weights.write_bytes(npy(rows, len(values) // rows, values))
                self.encode_refuses(text, "--imatrix", self.weights)

    def test_decode_checks_sizes(self):
        self.runs("weft", "codec", "encode", "Q4_K", self.input, self.out)
        for text, shape in [("must have", "4,512"), ("must have", "3,256"),
                            ("whole blocks", "3,100"), ("both positive", "0,512"),
                            ("both positive", "3"), ("both positive", "3,-512"),
                            ("must be numbers", "a,b"),
                            ("must have", "2147483647,2147483392")]:
            with self.subTest(shape=shape):
                self.refuses(1, text, "weft", "codec", "decode", "Q4_K", self.out, self.back,
                             "--shape", shape)
                self.assertFalse(self.back.exists())

    def test_missing_file(self):
        self.refuses(1, "cannot open: No such file", "weft", "codec", "encode", "Q4_K",
                     self.folder / "none.npy", self.out)
        self.refuses(1, "is a directory", "weft", "codec", "encode", "Q4_K", self.folder, self.out)
        self.refuses(2, "", "weft", "codec", "encode", "Q4_K")
        self.refuses(2, "", "weft", "codec")


if __name__ == "__main__":
    unittest.main()
