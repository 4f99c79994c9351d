"""Files that are written: quantized and converted. And what models are measured at."""

import json
import os
import pathlib
import struct
import sys
import tempfile
import unittest
import warnings

try:
    import numpy  # noqa: F401 - the package needs it
except ImportError:
    print("numpy is not installed")
    sys.exit(77)

import weft

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(pathlib.Path(os.environ["WEFT_SOURCE"]) / "tests/system")]
from hf_directory import write_safetensors  # noqa: E402 - the folder is not a package
from running import ctrl_c_ends  # noqa: E402

SHAPES = {"embed_tokens": [4, 32], "norm": [32], "layers.0.input_layernorm": [32],
          "layers.0.post_attention_layernorm": [32],
          **{f"layers.0.self_attn.{name}_proj": [32, 32] for name in "qkvo"},
          "layers.0.mlp.gate_proj": [8, 32], "layers.0.mlp.up_proj": [8, 32],
          "layers.0.mlp.down_proj": [32, 8]}
CONFIG = {"model_type": "llama", "vocab_size": 4, "max_position_embeddings": 64, "hidden_size": 32,
          "num_hidden_layers": 1, "intermediate_size": 8, "num_attention_heads": 2,
          "tie_word_embeddings": True}
TOKENIZER = {"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]},
             "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
             "added_tokens": [{"id": 3, "content": "<e>", "special": True}]}


def types(path):
    """The types of the tensors of a file, by their names."""
    inspected = json.loads(weft._weft.inspect_json(os.fsencode(path)))
    return {tensor["name"]: tensor["type"] for tensor in inspected["tensors"]}


class Written(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.out = self.folder / "out.gguf"

    def quantize(self, type="Q4_0", **options):
        weft.quantize(weft.bundled_model(), self.out, type, **{"allow_requantize": True, **options})


class Quantized(Written):
    def test_models_are_quantized(self):
        shares = []
        self.quantize(tensor_types={"attn_q": "Q6_K", r"blk\.0\.ffn_up": "F16"}, output_type="Q8_0",
                      progress=shares.append)
        found = types(self.out)
        self.assertEqual([found[f"blk.{name}.weight"] for name in ("1.attn_q", "0.ffn_up", "1.ffn_up")],
                         ["Q6_K", "F16", "Q4_0"])
        self.assertEqual(shares, sorted(shares))
        self.assertTrue(all(0 <= share <= 1 for share in shares) and shares)
        self.assertEqual(weft.Model(self.out).n_vocab, weft.Model().n_vocab)

    def imatrix(self):
        """An importance matrix of one weight, in the binary format."""
        name, n = b"blk.0.attn_q.weight", 256
        path = self.folder / "one.imatrix"
        path.write_bytes(struct.pack(f"<ii{len(name)}sii{n}f", 1, len(name), name, 1, n, *[1] * n))
        return path

    def test_warnings_are_those_of_python(self):
        with self.assertWarnsRegex(UserWarning, "imatrix|importance") as warned:
            self.quantize("Q4_K_M", imatrix=self.imatrix())
        self.assertEqual(warned.filename, __file__)
        self.out.unlink()
        with warnings.catch_warnings(), self.assertRaisesRegex(UserWarning, "imatrix|importance"):
            warnings.simplefilter("error")
            self.quantize("Q4_K_M", imatrix=self.imatrix())
        self.assertFalse(self.out.exists())

    def test_what_is_cancelled_leaves_no_file(self):
        def fail(share):
            raise KeyError("from progress")
        with self.assertRaisesRegex(KeyError, "from progress"):
            self.quantize(progress=fail)
        with self.assertRaises(weft.CancelledError):
            self.quantize(progress=lambda share: False)
        with self.assertRaises(TypeError):
            self.quantize(progress=5)

        def many():
            while True:
                self.quantize("Q6_K")
        self.assertTrue(any(ctrl_c_ends(many, "quantize") for _ in range(5)))
        self.assertEqual([path.name for path in self.folder.iterdir() if path != self.out], [])

    def test_wrong_options(self):
        with self.assertRaisesRegex(weft.Error, "Q4"):
            self.quantize("Q4")
        with self.assertRaisesRegex(TypeError, "'no'; it has .*nonfinite_to_zero"):
            self.quantize(no=1)
        with self.assertRaises(OSError):
            weft.quantize(self.folder / "none", self.out, "Q8_0")
        with self.assertRaises(ValueError):
            weft.quantize("a\0b", self.out, "Q8_0")


class Converted(Written):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "model"
        self.model.mkdir()
        sizes = {name: 2 * shape[0] * (shape[1] if len(shape) > 1 else 1)
                 for name, shape in SHAPES.items()}
        write_safetensors(self.model / "model.safetensors", {
            f"model.{name}.weight": ("BF16", shape, bytes(sizes[name])) for name, shape in SHAPES.items()})
        for name, value in (("config", CONFIG), ("tokenizer", TOKENIZER),
                            ("tokenizer_config", {"eos_token": "<e>"})):
            (self.model / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")

    def test_folders_become_files(self):
        shares = []
        weft.convert(self.model, self.out, "F16", progress=shares.append)
        self.assertEqual(types(self.out)["token_embd.weight"], "F16")
        self.assertTrue(shares)
        weft.convert(self.model, self.out)
        self.assertEqual(types(self.out)["token_embd.weight"], "BF16")
        self.assertEqual(weft.Model(self.out).tokenizer.encode("ab", add_special=False), [2])

    def test_what_cannot_be_converted_is_refused(self):
        with self.assertRaisesRegex(weft.ArgumentError, "F32, F16 or BF16, got 'Q4_0'"):
            weft.convert(self.model, self.out, "Q4_0")
        with self.assertRaises(weft.CancelledError):
            weft.convert(self.model, self.out, progress=lambda share: False)
        with self.assertRaisesRegex(weft.ArgumentError, "expected a directory"):
            weft.convert(weft.bundled_model(), self.out)
        self.assertFalse(self.out.exists())


class Measured(unittest.TestCase):
    def test_models_are_measured(self):
        measured = weft.Model().bench(prompt_tokens=4, generated_tokens=2, repeats=1, workers=1,
                                      weights="mapped")
        self.assertEqual([(row["phase"], row["tokens"]) for row in measured["rows"]],
                         [("prefill", 4), ("decode", 2)])

    def test_wrong_options(self):
        with self.assertRaises(weft.ArgumentError):
            weft.Model().bench(repeats=0)
        for call in (weft.Model().bench, weft.Model().verify):
            with self.assertRaisesRegex(weft.ArgumentError, "weights must be one of auto, .*'no'"):
                call(weights="no")
        with self.assertRaisesRegex(TypeError, "Session\\(\\) got .*'no'"):
            weft.Model().bench(no=1)


if __name__ == "__main__":
    unittest.main()
