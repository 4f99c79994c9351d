"""LoRAs and control vectors: flags of the programs, and merging."""

import json
import random
import struct
import unittest

from support import MODEL, SystemTest


def write_gguf(path, strings, floats, tensors):
    """`tensors`: name -> (dimensions, fastest first; values). All F32."""
    def text(value):
        return struct.pack("<Q", len(value)) + value.encode()

    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(strings) + len(floats))
    for key, value in strings.items():
        head += text(key) + struct.pack("<I", 8) + text(value)
    for key, value in floats.items():
        head += text(key) + struct.pack("<If", 6, value)
    data = b""
    for name, (dims, values) in tensors.items():
        head += text(name) + struct.pack("<I", len(dims))
        head += b"".join(struct.pack("<Q", d) for d in dims) + struct.pack("<IQ", 0, len(data))
        data += struct.pack(f"<{len(values)}f", *values)
        data += b"\0" * (-len(data) % 32)
    head += b"\0" * (-len(head) % 32)
    path.write_bytes(head + data)


class Adapters(SystemTest):
    def setUp(self):
        super().setUp()
        about = json.loads(self.runs("weft", "inspect", MODEL, "--json").out)
        self.shapes = {tensor["name"]: tensor["shape"] for tensor in about["tensors"]}
        self.width = self.shapes["blk.0.attn_q.weight"][1]

    def lora(self, name="lora.gguf", seed=1, size=0.05, **strings):
        rng = random.Random(seed)
        tensors = {}
        for weight in ("blk.0.attn_q.weight", "blk.1.ffn_down.weight"):
            rows, cols = self.shapes[weight]
            for end, dims in (("a", [cols, 4]), ("b", [4, rows])):
                values = [rng.uniform(-size, size) for _ in range(dims[0] * dims[1])]
                tensors[f"{weight}.lora_{end}"] = dims, values
        keys = {"general.type": "adapter", "adapter.type": "lora", "general.architecture": "llama"}
        path = self.folder / name
        write_gguf(path, {**keys, **strings}, {"adapter.lora.alpha": 8}, tensors)
        return path

    def vector(self, layer=1):
        rng = random.Random(layer)
        path = self.folder / f"vector{layer}.gguf"
        values = [rng.uniform(-1, 1) for _ in range(self.width)]
        write_gguf(path, {"general.architecture": "controlvector"}, {},
                   {f"direction.{layer}": ([self.width], values)})
        return path

    def logits(self, *flags, model=MODEL):
        out = self.folder / "out.npy"
        self.runs("weft", "logits", "-m", model, "--tokens", "1,5,9,300,7", "-o", out, *flags)
        data = out.read_bytes()
        n = (len(data) - 128) // 4
        return struct.unpack(f"<{n}f", data[-4 * n:])

    def assertClose(self, a, b, bound):
        error = sum((x - y) ** 2 for x, y in zip(a, b, strict=True))
        self.assertLess(error / sum(x * x for x in b), bound)

    def test_scales_and_orders_of_flags(self):
        a, b = self.lora("a.gguf", 1), self.lora("b.gguf", 2)
        base, plain = self.logits(), self.logits("--lora", a)
        self.assertNotEqual(base, plain)
        self.assertEqual(self.logits("--lora-scaled", f"{a}:0"), base)
        self.assertEqual(self.logits("--lora-scaled", f"{a}:1"), plain)
        self.assertEqual(self.logits("--lora-scaled", a, "1"), plain)
        both = self.logits("--lora", a, "--lora-scaled", b, "-0.5")
        self.assertEqual(self.logits("--lora-scaled", f"{a}:1,{b}:-0.5"), both)
        self.assertEqual(self.logits("--lora", f"{a},{b}"), self.logits("--lora", a, "--lora", b))

    def test_merged(self):
        a = self.lora()
        merged = self.folder / "merged.gguf"
        self.runs("weft", "convert", "-m", MODEL, "--lora-scaled", f"{a}:0.5", "-o", merged)
        # Both round: the merged model its weights, to their types.
        self.assertClose(self.logits(model=merged), self.logits("--lora-scaled", f"{a}:0.5"), 0.01)
        self.refuses(2, "--type", "weft", "convert", "-m", MODEL, "--lora", a, "-o", merged,
                     "--type", "F16")
        self.refuses(1, "must not be a file of the input", "weft", "convert", "-m", MODEL, "--lora",
                     a, "-o", MODEL)

    def test_programs_show_and_check_adapters(self):
        flags = ["--lora", self.lora(), "--control-vector-scaled", f"{self.vector()}:0.5"]
        plan = self.runs("weft", "plan", "--phase", "decode", *flags).out
        self.assertIn(b"attn_q.lora.0.sum", plan)
        passes = self.runs("weft", "dot", "--passes", *flags).out.decode()
        self.assertRegex(passes, r"(?m)^\(as built\) +\d+")
        self.assertRegex(passes, r"(?m)^lora +\d+  y = w x")
        self.assertRegex(passes, r"(?m)^control_vector +\d+  h -> h")
        self.assertIn(b"controlled", self.runs("weft", "dot", "--fold", "none", *flags).out)
        self.runs("weft", "verify", "--tokens", "1,2,3", *flags)
        text = self.runs("generate", "-p", "Once", "-n", "8", "--temp", "0", *flags).out
        self.assertTrue(text.strip())

    def test_control_vectors(self):
        one, two = self.vector(1), self.vector(2)
        base, plain = self.logits(), self.logits("--control-vector", one)
        self.assertNotEqual(base, plain)
        self.assertEqual(self.logits("--control-vector-scaled", f"{one}:0"), base)
        both = ["--control-vector", one, "--control-vector", two]
        self.assertEqual(self.logits(*both, "--control-vector-layer-range", "1", "1"), plain)
        self.assertNotEqual(self.logits(*both), plain)

    def test_refusals(self):
        a = self.lora()

        def refused(code, text, *flags):
            self.refuses(code, text, "weft", "plan", *flags)

        refused(1, "not an adapter: key 'general.type'", "--lora", MODEL)
        refused(1, "must be 'llama', got 'qwen2'", "--lora",
                self.lora("q.gguf", **{"general.architecture": "qwen2"}))
        refused(2, "must be a finite number, got 'nan'", "--lora-scaled", f"{a}:nan")
        refused(2, "must be a finite number, got ''", "--lora-scaled", a)
        for flag in ("--lora", "--lora-scaled", "--control-vector"):
            for files in ("", ",", f"{a},"):
                refused(2, f"a file name is missing in '{files}'", flag, files)
        refused(1, "cannot open", "--lora", self.folder / "missing.gguf")
        refused(1, "0 <= first <= last", "--control-vector", self.vector(),
                "--control-vector-layer-range", "3", "2")
        refused(1, "but no control vector", "--control-vector-layer-range", "1", "2")
        refused(1, "tensor 'direction.999'", "--control-vector", self.vector(999))
        refused(1, "not a control vector", "--control-vector", a)


if __name__ == "__main__":
    unittest.main()
