#!/usr/bin/env python3
"""Writes the corpus of the safetensors fuzz target: a byte for the kind of file, and the file,
valid or invalid."""
import json
import pathlib
import struct

WEIGHTS, CONFIG, TOKENIZER, TOKENIZER_CONFIG, GENERATION, INDEX = range(6)


def stored(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def entry(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


EMBED = {"model.embed_tokens.weight": entry("F16", [4, 2], 0, 16)}
Q = "model.layers.0.self_attn.q_proj.weight"
CONFIG_JSON = {"model_type": "llama", "vocab_size": 4, "max_position_embeddings": 64,
               "hidden_size": 2, "num_hidden_layers": 1,
               "intermediate_size": 4, "num_attention_heads": 1, "tie_word_embeddings": True}
BPE = {"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]},
       "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False}}
SPM = {"model": {"type": "BPE", "byte_fallback": True, "unk_token": "a",
                 "vocab": {"a": 0, "<0x41>": 1, "\u2581": 2, "\u2581a": 3},
                 "merges": [["\u2581", "a"]]},
       "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend",
                                                           "prepend": "\u2581"}]}}
TEMPLATE = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "a"}},
                                                     {"Sequence": {"id": "A"}}]}


def config(**changes):
    return CONFIG, json.dumps({**CONFIG_JSON, **changes}).encode()


def tokenizer(base, **changes):
    return TOKENIZER, json.dumps({**base, **changes}).encode()


FILES = {
    "weights": (WEIGHTS, stored(EMBED, bytes(16))),
    "weights-q": (WEIGHTS, stored({**EMBED, Q: entry("BF16", [2, 2], 16, 24)}, bytes(24))),
    "weights-norm": (WEIGHTS, stored({**EMBED, "model.norm.weight": entry("BF16", [2], 16, 20)},
                                     bytes(20))),
    "weights-bias": (WEIGHTS, stored({**EMBED, Q.replace("weight", "bias"): entry("F32", [2], 16,
                                                                                  24)}, bytes(24))),
    "weights-empty": (WEIGHTS, b""),
    "weights-length-max": (WEIGHTS, stored({}, length=2**64 - 1)),
    "weights-overlap": (WEIGHTS, stored({**EMBED, Q: entry("F16", [4], 8, 16)}, bytes(16))),
    "weights-hole": (WEIGHTS, stored({**EMBED, Q: entry("F16", [2, 1], 18, 22)}, bytes(22))),
    "weights-wrap": (WEIGHTS, stored({Q: entry("F16", [2**63 - 1, 2**63 - 1], 0, 2)}, bytes(2))),
    "weights-outside": (WEIGHTS, stored({Q: entry("F16", [2], 2**64 - 5, 2**64 - 1)}, bytes(4))),
    "weights-zero": (WEIGHTS, stored({**EMBED, Q: entry("F16", [0, 2], 16, 16)}, bytes(16))),
    "weights-scalar": (WEIGHTS, stored({**EMBED, Q: entry("F16", [], 16, 18)}, bytes(18))),
    "weights-types": (WEIGHTS, stored({**EMBED, Q: entry("F4", [2, 2], 16, 18)}, bytes(18))),
    "weights-twice": (WEIGHTS, stored(b'{"a": 1, "a": 2}')),
    "weights-nested": (WEIGHTS, stored(b'{"a": ' + b"[" * 999 + b"]" * 999 + b"}")),
    "weights-metadata": (WEIGHTS, stored({**EMBED, "__metadata__": {"format": "pt"}}, bytes(16))),
    "config": config(),
    "config-llama3": config(rope_scaling={"rope_type": "llama3", "factor": 8, "low_freq_factor": 1,
                                          "high_freq_factor": 4,
                                          "original_max_position_embeddings": 8}),
    "config-yarn": config(rope_parameters={"rope_type": "yarn", "factor": 4, "rope_theta": 1e6,
                                           "mscale": 1, "mscale_all_dim": 2}),
    "config-heads-0": config(num_attention_heads=0),
    "config-head-dim": config(head_dim=2**63),
    "config-vocab-max": config(vocab_size=2**31 - 1),
    "config-nan": (CONFIG, json.dumps({**CONFIG_JSON, "rope_theta": 1e308,
                                       "rms_norm_eps": -1}).encode()),
    "config-windows": config(sliding_window=4, max_window_layers=1),
    "config-layers": config(layer_types=["full_attention", 3]),
    "config-array": (CONFIG, b"[]"),
    "config-cut": (CONFIG, b'{"model_type": "lla'),
    "bpe": tokenizer(BPE),
    "bpe-template": tokenizer(BPE, post_processor=TEMPLATE),
    "bpe-split": tokenizer(BPE, pre_tokenizer={"type": "Split", "pattern": {"Regex": "x"},
                                               "behavior": "Isolated"}),
    "bpe-id-max": tokenizer(BPE, added_tokens=[{"id": 2**64 - 1, "content": "x"}]),
    "bpe-id-taken": tokenizer(BPE, added_tokens=[{"id": 0, "content": "x"}]),
    "bpe-merge": tokenizer({**BPE, "model": {**BPE["model"], "merges": ["a", ["a", "b", "c"]]}}),
    "spm": tokenizer(SPM),
    "spm-metaspace": tokenizer(SPM, pre_tokenizer={"type": "Metaspace", "prepend_scheme": "first",
                                                   "split": False}),
    "not-utf8": (TOKENIZER, b'{"model": {"vocab": {"\xff": 1}}}'),
    "surrogate": (TOKENIZER, b'{"model": {"vocab": {"\\ud800": 1}}}'),
    "tokenizer-config": (TOKENIZER_CONFIG,
                         b'{"bos_token": {"content": "a"}, "add_bos_token": true, "chat_template": [{"name": "default"}]}'),
    "generation": (GENERATION, b'{"eos_token_id": [0, 1, 4294967295]}'),
    "index": (INDEX, b'{"weight_map": {"model.embed_tokens.weight": "s.safetensors"}}'),
    "index-missing": (INDEX, b'{"weight_map": {"model.embed_tokens.weight": "t.safetensors"}}'),
    "index-outside": (INDEX, b'{"weight_map": {"model.embed_tokens.weight": "../s.safetensors"}}'),
    "index-wrong": (INDEX, b'{"weight_map": {"x": "s.safetensors"}}'),
}

if __name__ == "__main__":
    folder = pathlib.Path(__file__).parent / "corpus/safetensors"
    folder.mkdir(parents=True, exist_ok=True)
    for name, (which, content) in FILES.items():
        (folder / f"{name}.bin").write_bytes(bytes([which]) + content)
