"""Directories of sentence-transformers: `weft embed` against the formulas of the modules in float64,
and the bits of the directory against those of the file that it is converted to.

The model is a small BERT (encoder_classes.py). The modules are those that sentence-transformers'
modules/pooling.py, dense.py and normalize.py define, in the files that their publishers have."""

import math
import unittest

import numpy as np

from blocks import linear, relu
from encoder_classes import bert
from published import Weights, save, stored
from hf_directory import write_safetensors
from support import SystemTest

WORDS = "the red fox saw a blue boat near that old moon".split()
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS]
TEXT = "the old red fox saw the moon near a blue fox"
IDS = [TOKENS.index(word) for word in ["[CLS]", *TEXT.split(), "[SEP]"]]
# As in forms_test.py: sums in another order lose at most two bits more than numpy in float32.
MORE = 4
WIDTH = 64

TYPE = "sentence_transformers.models."
TANH, IDENTITY, RELU = ("torch.nn.modules.activation.Tanh", "torch.nn.modules.linear.Identity",
                        "torch.nn.modules.activation.ReLU")
FUNCTIONS = {TANH: np.tanh, IDENTITY: lambda x: x, RELU: relu}


def settings():
    return {"model_type": "bert", "vocab_size": len(TOKENS), "hidden_size": WIDTH,
            "intermediate_size": 80, "num_hidden_layers": 2, "num_attention_heads": 4,
            "max_position_embeddings": 64, "type_vocab_size": 2, "hidden_act": "gelu",
            "layer_norm_eps": 1e-3, "pad_token_id": 0, "position_embedding_type": "absolute"}


POOLINGS = {
    "cls": lambda x: x[0],
    "lasttoken": lambda x: x[-1],
    "mean": lambda x: x.mean(axis=0),
    "max": lambda x: x.max(axis=0),
    "mean_sqrt_len_tokens": lambda x: x.sum(axis=0) / x.dtype.type(math.sqrt(len(x))),
    "weightedmean": lambda x: (x * np.arange(1, len(x) + 1, dtype=x.dtype)[:, None]).sum(axis=0)
                              / x.dtype.type(len(x) * (len(x) + 1) // 2),
}


class Modules:
    """A list of modules, written as files and computed as a formula."""

    def __init__(self, pooling, modes, dense=(), normalize=True):
        self.pooling, self.modes, self.normalize = pooling, modes, normalize
        self.dense = [dict(zip(("out_features", "bias", "activation_function"), d)) for d in dense]

    def compute(self, m, ids):
        rows = bert(m, ids)
        x = np.concatenate([POOLINGS[mode](rows) for mode in self.modes])
        for i, d in enumerate(self.dense):
            d["in_features"] = len(x)
            y = linear(m, f"{i + 2}_Dense.linear", x, d["out_features"], d["bias"])
            x = FUNCTIONS[d["activation_function"]](y)
        return x / np.sqrt((x * x).sum()) if self.normalize else x

    def write(self, folder, m):
        """REQUIRES: compute() drew the weights."""
        modules = [("", "Transformer", None), ("1_Pooling", "Pooling", self.pooling)]
        modules += [(f"{i + 2}_Dense", "Dense", d) for i, d in enumerate(self.dense)]
        if self.normalize:
            modules.append((f"{len(modules)}_Normalize", "Normalize", None))
        save(folder / "modules.json", [{"idx": i, "name": str(i), "path": path, "type": TYPE + kind}
                                       for i, (path, kind, _) in enumerate(modules)])
        tensors = {name: stored(w, "F32") for name, w in m.stored.items()}
        for path, kind, config in modules[1:]:
            (folder / path).mkdir()
            if config is not None:
                save(folder / path / "config.json", config)
            own = {n: tensors.pop(n) for n in list(tensors) if n.startswith(path + ".")}
            if own:
                write_safetensors(folder / path / "model.safetensors",
                                  {n[len(path) + 1:]: t for n, t in own.items()})
        write_safetensors(folder / "model.safetensors", tensors)


def write_model(folder):
    save(folder / "config.json", settings())
    save(folder / "sentence_bert_config.json", {"max_seq_length": 32, "do_lower_case": False})
    save(folder / "tokenizer_config.json", {"cls_token": "[CLS]", "sep_token": "[SEP]",
                                            "unk_token": "[UNK]", "pad_token": "[PAD]"})
    special = [{"id": i, "content": t, "special": True} for i, t in enumerate(TOKENS[:4])]
    save(folder / "tokenizer.json",
         {"added_tokens": special, "normalizer": {"type": "BertNormalizer", "lowercase": False},
          "pre_tokenizer": {"type": "BertPreTokenizer"},
          "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
          "model": {"type": "WordPiece", "unk_token": "[UNK]",
                    "vocab": {t: i for i, t in enumerate(TOKENS)}}})


def old_pooling(width, *modes):
    names = ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens")
    return {"word_embedding_dimension": width, **{f"pooling_mode_{n}": n in modes for n in names}}


FORMS = {
    "LaBSE": Modules(old_pooling(WIDTH, "cls_token"), ["cls"], [(WIDTH, True, TANH)]),
    "EmbeddingGemma": Modules({**old_pooling(WIDTH, "mean_tokens"), "include_prompt": True},
                              ["mean"], [(96, False, IDENTITY), (WIDTH, False, IDENTITY)]),
    "several poolings": Modules(old_pooling(WIDTH, "max_tokens", "mean_sqrt_len_tokens"),
                                ["max", "mean_sqrt_len_tokens"], normalize=False),
    "new form": Modules({"embedding_dimension": WIDTH, "include_prompt": False,
                         "pooling_mode": ["weightedmean", "lasttoken"]},
                        ["weightedmean", "lasttoken"], [(48, True, RELU)], normalize=False),
}


def nmse(got, want):
    return float(((got - want)**2).sum() / (want**2).sum())


class ModulesTest(SystemTest):
    def embed(self, model, *flags):
        out = self.folder / "o.npy"
        self.runs("weft", "embed", "-m", model, "-o", out, *flags, TEXT)
        return np.load(out)

    def write(self, name):
        """The directory, and the vector of TEXT in float64 and float32."""
        folder = self.folder / name.replace(" ", "-")
        folder.mkdir()
        exact, rough = (Weights(settings(), dtype) for dtype in (np.float64, np.float32))
        want, rounded = (FORMS[name].compute(m, IDS) for m in (exact, rough))
        write_model(folder)
        FORMS[name].write(folder, exact)
        return folder, want, rounded.astype(np.float64)

    def test_the_modules_are_those_of_their_publishers(self):
        for name in FORMS:
            with self.subTest(name):
                folder, want, rounded = self.write(name)
                got = self.embed(folder)
                self.assertEqual(got.shape, (1, len(want)))
                error, limit = nmse(got[0], want), MORE**2 * nmse(rounded, want)
                print(f"{name}: error {error:.1e}, limit {limit:.1e}")
                self.assertLess(limit, 1e-9)
                self.assertLess(error, limit)
                file = self.folder / "converted.gguf"
                self.runs("weft", "convert", folder, file)
                np.testing.assert_array_equal(self.embed(file), got)
                file.unlink()

    def test_flags_win_over_the_modules(self):
        folder, want, _ = self.write("several poolings")
        self.assertEqual(self.embed(folder, "--pooling", "max").shape, (1, WIDTH))
        length = np.sqrt((self.embed(folder, "--normalize", "2").astype(np.float64)**2).sum())
        self.assertAlmostEqual(length, 1, places=6)
        self.assertGreater(abs(np.sqrt((want**2).sum()) - 1), 0.1)

    def test_max_seq_length_limits_texts(self):
        folder, _, _ = self.write("LaBSE")
        text = " ".join(["fox"] * 31)
        self.refuses(1, "text 1 of 1 has 33 tokens, at most 32 fit", "weft", "embed", "-m", folder,
                     text)
        self.runs("weft", "embed", "-m", folder, "--truncate", text)
        self.runs("weft", "embed", "-m", folder, "--override-kv",
                  "weft.embedding.max_tokens=int:64", text)

    def test_weights_must_be_safetensors(self):
        folder, _, _ = self.write("LaBSE")
        dense = folder / "2_Dense"
        (dense / "model.safetensors").rename(dense / "pytorch_model.bin")
        self.refuses(1, "'pytorch_model.bin' cannot be read", "weft", "embed", "-m", folder, TEXT)


if __name__ == "__main__":
    unittest.main()
