"""Damaged GGUF files: refused with exit code 1 and one short message, see hostile.json."""

import resource
import struct
import unittest

import tiny_decoder
from case_support import load
from gguf_writer import ARRAY, STRING, gguf, text
from support import SANITIZED, SystemTest, run


class Hostile(SystemTest):
    def setUp(self):
        super().setUp()
        o = tiny_decoder.options(layers=1)
        self.metadata = tiny_decoder.metadata(o)
        self.tensors = [(n, dims, v) for n, (dims, v) in tiny_decoder.make(o).items()]
        self.file = gguf(self.metadata, self.tensors)

    def place(self, name):
        """The offset of a field."""
        if name in ("magic", "version", "n_tensors", "n_entries"):
            return {"magic": 0, "version": 4, "n_tensors": 8, "n_entries": 16}[name]
        if name.startswith("key"):
            start = self.file.index(text("llama.block_count"))
            return start + (0 if name == "key.length" else 8 + len("llama.block_count"))
        if name.startswith("tokens"):
            key = text("tokenizer.ggml.tokens") + struct.pack("<II", ARRAY, STRING)
            end = self.file.index(key) + len(key)
            return end - 4 if name == "tokens.type" else end
        start = self.file.index(text("blk.0.attn_q.weight")) + len(text("blk.0.attn_q.weight"))
        return start + {"tensor.rank": 0, "tensor.dim": 4, "tensor.type": 20,
                        "tensor.offset": 24}[name]

    def damaged(self, case):
        if "keep" in case:
            return self.file[:case["keep"]]
        if "drop" in case:
            return self.file[:-case["drop"]]
        if "set" in case:
            return gguf({**self.metadata, **case["set"]}, self.tensors)
        if "rename" in case:
            old, new = case["rename"]
            return gguf(self.metadata, [(new if n == old else n, d, v) for n, d, v in self.tensors])
        at = self.place(case["at"])
        if "add" in case:
            n = struct.unpack_from("<Q", self.file, at)[0] + case["add"]
            value = struct.pack("<Q", n)
        else:
            value = bytes.fromhex(case["hex"])
        self.assertNotEqual(self.file[at:at + len(value)], value)
        return self.file[:at] + value + self.file[at + len(value):]

    def test_the_file_is_valid_before_it_is_damaged(self):
        path = self.folder / "good.gguf"
        path.write_bytes(self.file)
        self.runs("weft", "inspect", path)
        self.runs("weft", "logits", "-m", path, "--tokens", "1,2,3", "-o", self.folder / "l.npy")

    def test_damaged_files(self):
        for case in load("hostile.json")["cases"]:
            with self.subTest(case["name"]):
                path = self.folder / "bad.gguf"
                path.write_bytes(self.damaged(case))
                out = self.folder / "l.npy"
                r = self.refuses(1, "bad.gguf", "weft", "logits", "-m", path, "--tokens", "1,2,3",
                                 "-o", out)
                self.assertLess(len(r.err), 600, "one short message")
                self.assertFalse(out.exists())
                self.assertIn(run("weft", "inspect", path).code, (0, 1))
        if not SANITIZED:
            # KiB of the largest program: a count in a file is not a reason to allocate.
            self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, 512 << 10)


if __name__ == "__main__":
    unittest.main()
