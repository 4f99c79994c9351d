"""Small models in directories as their publishers made them.

published/NAME has the configuration files of the model NAME. `Published` writes them with other
sizes, and with weights that a form draws under the names of the publisher's tensors."""

import json
import pathlib
import sys

import numpy as np

from made import Made

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "system"))
from hf_directory import cut_to_bf16, write_safetensors

FOLDER = pathlib.Path(__file__).resolve().parent / "published"


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))


def save(path, value):
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def stored(values, dtype):
    """A tensor of a file: float32 values in the type that the publisher stores."""
    data = values.tobytes()
    if dtype == "BF16":
        data = cut_to_bf16(data)
    elif dtype == "F16":
        data = values.astype(np.float16).tobytes()
    return dtype, list(values.shape), data


def rounded(values, dtype):
    """The values that a reader of stored() gets."""
    if dtype == "BF16":
        return (values.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    return values.astype(np.float16).astype(np.float32) if dtype == "F16" else values


class Weights(Made):
    """Weights under the names of the published files, and the settings of config.json as `c`."""

    def __init__(self, config, dtype=np.float64, stored_as="F32"):
        super().__init__(config["model_type"], dtype)
        self.c, self.stored_as = config, stored_as
        self.D, self.L, self.V = (config[k] for k in ("hidden_size", "num_hidden_layers",
                                                      "vocab_size"))
        self.H = config["num_attention_heads"]
        self.G = config.get("num_key_value_heads", self.H)
        self.E = config.get("head_dim", self.D // self.H)
        self.F = config["intermediate_size"]
        self.eps = next(config[k] for k in ("norm_eps", "layer_norm_eps", "rms_norm_eps")
                        if k in config)

    def weight(self, name, *shape):
        if name not in self.stored:
            super().weight(name, *shape)
            self.stored[name] = rounded(self.stored[name], self.stored_as)
        return self.stored[name].astype(self.dtype)


class Published:
    """The configuration files of a published model, with some values of config.json replaced."""

    def __init__(self, name, stored_as="F32", modules=None, **sizes):
        """`modules`: values that replace those in the files of modules, by path."""
        self.source, self.stored_as, self.modules = FOLDER / name, stored_as, modules or {}
        self.tokenizer = load(self.source / "tokenizer.json")
        self.config = {**load(self.source / "config.json"),
                       "vocab_size": len(self.tokens()), **sizes}

    def tokens(self):
        """Ids by token: those of the vocabulary, and the added ones."""
        vocab = self.tokenizer["model"]["vocab"]
        if isinstance(vocab, list):
            vocab = {token: i for i, (token, _) in enumerate(vocab)}
        return {**vocab, **{t["content"]: t["id"] for t in self.tokenizer["added_tokens"]}}

    def ids(self, tokens):
        """The ids of tokens that are separated by spaces."""
        known = self.tokens()
        return [known[token] for token in tokens.split()]

    def weights(self, dtype):
        return Weights(self.config, dtype, self.stored_as)

    def write(self, folder, weights, others=()):
        """REQUIRES: a form drew the weights. `others`: (name, dtype, shape, bytes) of tensors that
        the publisher stores and the form does not read."""
        folder.mkdir()
        for path in self.source.rglob("*.json"):
            name = path.relative_to(self.source).as_posix()
            save(folder / name, self.config if name == "config.json" else self.replaced(name))
        tensors = {name: stored(w, self.stored_as) for name, w in weights.stored.items()}
        tensors.update({name: rest for name, *rest in others})
        for path in self.modules:
            own = {n: tensors.pop(n) for n in list(tensors) if n.startswith(path + ".")}
            if own:
                write_safetensors(folder / path / "model.safetensors",
                                  {n[len(path) + 1:]: t for n, t in own.items()})
        write_safetensors(folder / "model.safetensors", tensors)

    def replaced(self, name):
        content = load(self.source / name)
        values = self.modules.get(name.removesuffix("/config.json"), {})
        if not values.keys() <= (content.keys() if isinstance(content, dict) else set()):
            raise KeyError(f"{name} has no {values}")
        return {**content, **values} if values else content
