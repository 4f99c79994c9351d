"""Directories of safetensors run like the GGUF file that they correspond to, and convert to it."""

import json
import os
import random
import struct
import unittest

from hf_directory import inspect, write_hf_directory, write_safetensors
from support import BIN, MODEL, SOURCE, SystemTest

WEFT = str(BIN / "weft")
GOLDEN = os.environ.get("WEFT_REFERENCE", str(SOURCE / "../shared/reference"))
IDS = ",".join(str(i * 7 % 50) for i in range(1, 60))
TEXT = "Once upon a time there was a small été, 123 days  long.\n\n\tThe end <|im_end|> <s> of it\u3002".encode()


def small(folder, arch="llama", tensors=("F32",)):
    """A directory without text: two layers of random weights. Norms and biases have the first type,
    matrices the last."""
    rng = random.Random(arch)
    d, heads, kv, e, f, v = 64, 4, 2, 32, 96, 80

    def values(dtype, shape, center=0.0):
        n = 1
        for dim in shape:
            n *= dim
        spread = 0.2 if len(shape) == 1 else 1.5 / shape[-1] ** 0.5
        floats = [center + rng.uniform(-spread, spread) for _ in range(n)]
        if dtype == "F32":
            return dtype, shape, struct.pack(f"<{n}f", *floats)
        if dtype == "F16":
            return dtype, shape, struct.pack(f"<{n}e", *floats)
        return dtype, shape, b"".join(struct.pack("<f", x)[2:] for x in floats)

    vector, matrix = tensors[0], tensors[-1]
    all_of_them = {"model.embed_tokens.weight": values(matrix, [v, d]),
                   "model.norm.weight": values(vector, [d], 1),
                   "lm_head.weight": values(matrix, [v, d])}
    for i in range(2):
        own = {"input_layernorm.weight": values(vector, [d], 1),
               "post_attention_layernorm.weight": values(vector, [d], 1),
               "self_attn.q_proj.weight": values(matrix, [heads * e, d]),
               "self_attn.k_proj.weight": values(matrix, [kv * e, d]),
               "self_attn.v_proj.weight": values(matrix, [kv * e, d]),
               "self_attn.o_proj.weight": values(matrix, [d, heads * e]),
               "mlp.gate_proj.weight": values(matrix, [f, d]),
               "mlp.up_proj.weight": values(matrix, [f, d]),
               "mlp.down_proj.weight": values(matrix, [d, f])}
        if arch == "qwen2" or arch == "llama":
            for name, n in [("q", heads * e), ("k", kv * e), ("v", kv * e)]:
                own[f"self_attn.{name}_proj.bias"] = values(vector, [n])
        if arch == "qwen3":
            own.update({"self_attn.q_norm.weight": values(vector, [e], 1),
                        "self_attn.k_norm.weight": values(vector, [e], 1)})
        all_of_them.update({f"model.layers.{i}.{name}": t for name, t in own.items()})
    config = {"model_type": arch, "hidden_size": d, "num_hidden_layers": 2, "intermediate_size": f,
              "num_attention_heads": heads,
              "num_key_value_heads": kv, "head_dim": e, "vocab_size": v,
              "max_position_embeddings": 128, "rms_norm_eps": 1e-5,
              "tie_word_embeddings": False, "torch_dtype": "bfloat16",
              "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                               "high_freq_factor": 4.0,
                               "original_max_position_embeddings": 64} if arch == "llama" else None}
    os.makedirs(folder)
    write_safetensors(os.path.join(folder, "model.safetensors"), all_of_them)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as out:
        json.dump(config, out)


class Convert(SystemTest):
    def logits(self, model, *args):
        out = self.folder / "logits.npy"
        self.runs("weft", "logits", "-m", model, "--tokens", IDS, "-o", out, *args)
        return out.read_bytes()

    def ids(self, model):
        texts = "\n".join(json.dumps(t) for t in [TEXT.decode(), "", " x", "a  b"]).encode()
        return [self.runs("weft", "tokenize", "-m", model, "--jsonl", *flags, stdin=texts).out
                for flags in ([], ["--parse-special"])]

    def same(self, gguf, directory, text):
        """The directory and its conversion give the same bits and ids as the file."""
        out = self.folder / "converted.gguf"
        self.runs("weft", "convert", directory, out)
        for mode in ("mapped", "resident"):
            expected = self.logits(gguf, "--weights", mode)
            self.assertEqual(self.logits(directory, "--weights", mode), expected)
            self.assertEqual(self.logits(out, "--weights", mode), expected)
        if text:
            for model in (directory, out):
                self.assertEqual(self.ids(model), self.ids(gguf))
        before, after = (inspect(WEFT, path) for path in (gguf, out))
        self.assertEqual(after["totals"]["weights"], before["totals"]["weights"])
        out.unlink()

    def test_any_architecture_and_type(self):
        for arch in ("llama", "mistral", "qwen2", "qwen3"):
            for tensors in (["F32"], ["BF16"], ["F32", "F16"]):
                with self.subTest(arch=arch, tensors=tensors):
                    folder = self.folder / f"{arch}-{'-'.join(tensors)}"
                    small(folder, arch, tensors)
                    out = self.folder / "out.gguf"
                    self.runs("weft", "convert", folder, out)
                    about = inspect(WEFT, out)
                    self.assertEqual({t["type"] for t in about["tensors"] if len(t["shape"]) == 1},
                                     {"F32"})
                    self.assertEqual({t["type"] for t in about["tensors"] if len(t["shape"]) == 2},
                                     {tensors[-1]})
                    for mode in ("mapped", "resident"):
                        self.assertEqual(self.logits(folder, "--weights", mode),
                                         self.logits(out, "--weights", mode))

    @unittest.skipUnless(os.path.isdir(GOLDEN), "no reference data")
    def test_reference_models(self):
        models = [f"golden/archs/{name}.gguf" for name in ("llama", "llama-spm-vocab",
                                                           "llama-linear-scale", "llama-1layer-odd",
                                                           "qwen2",
                                                          "qwen2-bpe-vocab", "qwen3", "qwen3-tied")]
        models += ["models/stories260k/stories260K-f32.gguf",
                   "models/stories260k/stories260K-f16-untied.gguf"]
        for i, name in enumerate(models):
            with self.subTest(model=name):
                gguf = os.path.join(GOLDEN, name)
                folder = self.folder / os.path.basename(name)
                write_hf_directory(WEFT, gguf, folder, shards=1 + i % 3, pairs=i % 2 == 0)
                self.same(gguf, folder, text="vocab" in name or "stories" in name)

    def test_types(self):
        folder = self.folder / "model"
        small(folder)
        for name in ("F16", "BF16", "F32"):
            out = self.folder / f"{name}.gguf"
            r = self.runs("weft", "convert", folder, out, "--type", name)
            self.assertIn("tensors", r.err)
            types = {t["type"] for t in inspect(WEFT, out)["tensors"] if len(t["shape"]) == 2}
            self.assertEqual(types, {name})
        self.refuses(2, "--type", "weft", "convert", folder, self.folder / "x.gguf", "--type",
                     "Q4_0")
        self.refuses(2, "already a GGUF file", "weft", "convert", MODEL, self.folder / "x.gguf")
        self.assertFalse((self.folder / "x.gguf").exists())

    def test_everywhere(self):
        """Every command that accepts a GGUF file accepts the directory, too."""
        gguf = self.folder / "stories.gguf"
        self.runs("weft", "bench", "--make-model", "D=64,F=96,L=2,H=4,G=2,V=80", "F16", gguf)
        folder = self.folder / "stories"
        write_hf_directory(WEFT, gguf, folder, shards=2)
        for command in (["inspect"], ["plan", "-c", "64"], ["dot", "-o", self.folder / "g.dot"],
                        ["verify"],
                        ["bench", "-p", "8", "-n", "4", "-r", "1", "--no-limits"]):
            with self.subTest(command=command):
                self.runs("weft", *command[:1], "-m", folder, *command[1:])

    def test_quantized_from_either_form(self):
        folder, whole = self.folder / "model", self.folder / "whole.gguf"
        small(folder, tensors=["F32", "BF16"])
        self.runs("weft", "convert", folder, whole)
        small_files = [self.folder / "a.gguf", self.folder / "b.gguf"]
        for source, out in zip((folder, whole), small_files):
            self.runs("weft", "quantize", source, out, "Q8_0")
        a, b = ({t["name"]: f.read_bytes()[t["offset"]:t["offset"] + t["bytes"]] for t
                 in inspect(WEFT, f)["tensors"]} for f in small_files)
        self.assertEqual(a, b)

    def test_nothing_is_left_of_a_file_that_is_not_complete(self):
        folder, out = self.folder / "model", self.folder / "out.gguf"
        small(folder)
        for name, value, text in [("nan", float("nan"), "holds nan at element 65"),
                                  ("large", 1e6, "would become inf at element 65")]:
            with self.subTest(name=name):
                path = folder / "model.safetensors"
                whole = path.read_bytes()
                n = struct.unpack("<Q", whole[:8])[0]
                begin = json.loads(whole[8:8 + n])["model.layers.1.mlp.up_proj.weight"]["data_offsets"][0] + 8 + n
                path.write_bytes(whole[:begin + 65 * 4] + struct.pack("<f", value)
                                 + whole[begin + 66 * 4:])
                self.refuses(1, f"tensor 'blk.1.ffn_up.weight' {text}", "weft", "convert", folder,
                             out, "--type", "F16")
                self.assertEqual(sorted(os.listdir(self.folder)), ["model"])
                self.runs("weft", "convert", folder, out, "--type", "F16", "--allow-nonfinite")
                out.unlink()
                path.write_bytes(whole)
        self.refuses(1, "full", "weft", "convert", folder, "/dev/full")

    def test_missing_pieces(self):
        for name in ("model.safetensors", "config.json"):
            folder = self.folder / name
            small(folder)
            (folder / name).unlink()
            self.refuses(1, name, "weft", "convert", folder, self.folder / "out.gguf")
            self.refuses(1, name, "weft", "plan", "-m", folder)
        small(self.folder / "cut")
        path = self.folder / "cut/model.safetensors"
        path.write_bytes(path.read_bytes()[:-1])
        self.refuses(1, "is the file truncated?", "weft", "logits", "-m", self.folder / "cut",
                     "--tokens", "1", "-o", self.folder / "o")
        self.refuses(1, "give the directory", "weft", "plan", "-m", path)


if __name__ == "__main__":
    unittest.main()
