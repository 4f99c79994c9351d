"""A small model that comes into being while a form asks for its weights, and its file."""

import array
import pathlib
import sys
import zlib

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cases"))
from gguf_writer import gguf


class Made:
    """The settings of a model, its keys in the file, and its weights in the precision `dtype`.

    A weight depends on its name alone, so that forms in two precisions see the same numbers."""

    def __init__(self, name, dtype=np.float64):
        self.name, self.dtype = name, dtype
        self.D, self.H, self.G, self.E, self.F, self.V, self.L = 48, 4, 2, 16, 80, 60, 3
        self.eps, self.base, self.n_rot = 1e-3, 500.0, None
        self.others, self.stored = {}, {}
        self.command = ["logits", "--cache-type-k", "f32", "--cache-type-v", "f32"]

    def keys(self, **values):
        """Adds keys of the architecture; two underscores stand for a dot."""
        self.others.update({k.replace("__", "."): v for k, v in values.items()})

    def weight(self, name, *shape):
        """The weight of this name, which is drawn when it is first asked for."""
        if name not in self.stored:
            rng = np.random.default_rng(zlib.crc32(name.encode()))
            noise = rng.standard_normal(shape)
            if "norm" in name and name.endswith(".weight"):
                value = 1 + 0.3 * noise
            elif len(shape) == 1 or name.endswith(".bias"):
                value = 0.3 * noise
            else:
                value = noise / np.sqrt(shape[-1])
            if name == "token_embd.weight":
                value = noise
            self.stored[name] = value.astype(np.float32)
        return self.stored[name].astype(self.dtype)

    def put(self, name, values):
        """A weight with these values, rounded to float32."""
        self.stored[name] = np.asarray(values, dtype=np.float32)
        return self.stored[name].astype(self.dtype)

    def put_ids(self, name, values):
        """A tensor of whole numbers."""
        self.stored[name] = np.asarray(values, dtype=np.int32)
        return self.stored[name]

    def layer(self, index):
        return Layer(self, index)

    def metadata(self):
        """The keys of the file."""
        own = {"context_length": 128, "embedding_length": self.D, "block_count": self.L,
               "feed_forward_length": self.F, "vocab_size": self.V,
               "attention.head_count": self.H, "attention.head_count_kv": self.G,
               "attention.key_length": self.E, "attention.value_length": self.E,
               "rope.dimension_count": self.n_rot or self.E, "rope.freq_base": self.base,
               "attention.layer_norm_rms_epsilon": self.eps,
               "attention.layer_norm_epsilon": self.eps}
        own.update(self.others)
        general = {"general.architecture": self.name, "general.alignment": 32,
                   "tokenizer.ggml.model": "no_vocab"}
        # xIELU's constants are the only keys without the name of the architecture.
        named = {k if k.startswith(("xielu.", "tokenizer.")) else f"{self.name}.{k}": v
                 for k, v in own.items() if v is not None}
        return {**general, **named}

    def file(self):
        """The bytes of the file."""
        return gguf(self.metadata(), [
            (name, w.shape[::-1], array.array("i" if w.dtype == np.int32 else "f", w.ravel()))
            for name, w in self.stored.items()])


class Layer:
    """The weights of one layer."""

    def __init__(self, model, index):
        self.model, self.index = model, index

    def __getattr__(self, name):
        return getattr(self.model, name)

    def weight(self, name, *shape):
        return self.model.weight(f"blk.{self.index}.{name}", *shape)

    def put(self, name, values):
        return self.model.put(f"blk.{self.index}.{name}", values)

    def put_ids(self, name, values):
        return self.model.put_ids(f"blk.{self.index}.{name}", values)
