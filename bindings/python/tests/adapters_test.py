"""LoRAs and control vectors of a model, and LoRAs of Llama."""

import os
import pathlib
import sys
import tempfile
import unittest

try:
    import numpy as np
except ImportError:
    print("numpy is not installed")
    sys.exit(77)

import weft
from weft.llama_cpp import Llama

sys.path.insert(0, str(pathlib.Path(os.environ["WEFT_SOURCE"]) / "tests/cases"))
from gguf_writer import gguf  # noqa: E402 - the folder is not a package

IDS = [1, 5, 9, 300, 7]


class Adapters(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.width = weft.Model().n_embd

    def lora(self, seed=1):
        rng = np.random.default_rng(seed)
        name, rank = "blk.0.attn_q.weight", 4
        tensors = [(f"{name}.lora_{end}", dims, rng.uniform(-0.05, 0.05, dims[0] * dims[1]))
                   for end, dims in (("a", (self.width, rank)), ("b", (rank, self.width)))]
        path = self.folder / f"lora{seed}.gguf"
        path.write_bytes(gguf({"general.type": "adapter", "adapter.type": "lora",
                               "general.architecture": "llama", "adapter.lora.alpha": 8.0}, tensors))
        return path

    def vector(self):
        path = self.folder / "vector.gguf"
        values = np.random.default_rng(3).uniform(-1, 1, self.width)
        path.write_bytes(gguf({"general.architecture": "controlvector"},
                              [("direction.1", (self.width,), values)]))
        return path

    def logits(self, **options):
        return weft.Model(**options).session(context=64).feed(IDS).copy()

    def test_they_change_the_model_by_their_scale(self):
        plain, lora = self.logits(), self.lora()
        self.assertTrue(np.array_equal(self.logits(loras=[]), plain))
        for kind, path in (("loras", lora), ("control_vectors", self.vector())):
            full = self.logits(**{kind: [path]})
            self.assertFalse(np.array_equal(full, plain))
            self.assertTrue(np.array_equal(self.logits(**{kind: [(str(path), 1)]}), full))
            self.assertTrue(np.array_equal(self.logits(**{kind: [(path, 0.0)]}), plain))
        layers = [self.logits(control_vectors=[self.vector()], control_layers=pair)
                  for pair in ((1, 1), (2, 2))]
        self.assertFalse(np.array_equal(*layers))

    def test_scales_belong_to_sequences(self):
        model = weft.Model(loras=[self.lora(1), (self.lora(2), 0.5)])
        session = model.session(context=64, sequences=2)
        session.set_lora_scales([0, 0], sequence=1)
        self.assertTrue(np.array_equal(session.feed(IDS, sequence=1), self.logits()))
        self.assertTrue(np.array_equal(session.feed(IDS),
                                       self.logits(loras=[self.lora(1), (self.lora(2), 0.5)])))
        for wrong in ([1], [1, 2, 3]):
            with self.assertRaises(weft.ArgumentError):
                session.set_lora_scales(wrong)

    def test_llama_takes_one(self):
        def row(**arguments):
            llm = Llama(weft.bundled_model(), n_ctx=64, verbose=False, **arguments)
            llm.eval(IDS)
            return llm._scores[-1].copy()
        self.assertTrue(np.array_equal(row(lora_path=str(self.lora()), lora_scale=0.5),
                                       self.logits(loras=[(self.lora(), 0.5)])))
        self.assertTrue(np.array_equal(row(lora_path=None), self.logits()))
        with self.assertRaisesRegex(weft.UnsupportedError, "lora_base"):
            row(lora_base="model.gguf")
        with self.assertRaisesRegex(ValueError, "lora_path: /none.gguf"):
            row(lora_path="/none.gguf")

    def test_wrong_ones(self):
        for wrong, kind in ((str(self.lora()), TypeError), ([("a", 1, 2)], (TypeError, ValueError)),
                            ([5], TypeError), ([("a", "b")], (TypeError, ValueError)),
                            (["/none.gguf"], weft.IoError), ([weft.bundled_model()], weft.Error)):
            with self.assertRaises(kind):
                weft.Model(loras=wrong)


if __name__ == "__main__":
    unittest.main()
