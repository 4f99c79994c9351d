#!/usr/bin/python3
"""Turns a checkpoint into the GGUF file that the program loads."""

import argparse
import os
from pathlib import Path

import torch

import gguf_writer
from bpe import SPECIALS, Tokenizer

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")
NORMAL, CONTROL = 1, 3
MOSTLY_Q8_0 = 7


def keys_for(cfg: dict, tokenizer: Tokenizer) -> dict:
    """Everything that the file says about the model and its tokenizer."""
    return {
        "general.architecture": "llama",
        "general.name": "Weft Stories",
        "general.description":
        "A very small story teller, trained on stories and chats composed by its own grammar.",
        "general.license": "apache-2.0",
        "general.languages": ["en"],
        "general.file_type": MOSTLY_Q8_0,
        "general.quantization_version": 2,
        "llama.vocab_size": cfg["vocab"],
        "llama.context_length": cfg["context"],
        "llama.embedding_length": cfg["dim"],
        "llama.block_count": cfg["layers"],
        "llama.feed_forward_length": cfg["hidden"],
        "llama.attention.head_count": cfg["heads"],
        "llama.attention.head_count_kv": cfg["kv_heads"],
        "llama.attention.layer_norm_rms_epsilon": cfg["eps"],
        "llama.rope.dimension_count": cfg["dim"] // cfg["heads"],
        "llama.rope.freq_base": cfg["rope_base"],
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": tokenizer.tokens,
        "tokenizer.ggml.token_type":
        [CONTROL if t in SPECIALS else NORMAL for t in tokenizer.tokens],
        "tokenizer.ggml.merges": [f"{a} {b}" for a, b in tokenizer.merges],
        "tokenizer.ggml.bos_token_id": tokenizer.end,
        "tokenizer.ggml.eos_token_id": tokenizer.end,
        "tokenizer.ggml.eot_token_id": tokenizer.im_end,
        "tokenizer.ggml.add_bos_token": True,
        "tokenizer.chat_template": CHAT_TEMPLATE,
    }


def gguf_name(name: str) -> str:
    return name.replace("blocks.", "blk.")


def tensors_for(state: dict) -> dict:
    """Matrices become Q8_0; the weights of the norms stay whole."""
    out = {}
    for name, p in state.items():
        out[gguf_name(name)] = (p.float().numpy(),
                                gguf_writer.Q8_0 if p.ndim == 2 else gguf_writer.F32)
    return out


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("--dir", default=os.environ.get("WEFT_TRAIN_DIR", "build/train"))
    args.add_argument("--out", default="examples/models/weft-stories.gguf")
    o = args.parse_args()
    state = torch.load(Path(o.dir) / "checkpoint.pt")
    tokenizer = Tokenizer.load(Path(o.dir) / "merges.json")
    assert len(tokenizer.tokens) == state["config"]["vocab"]
    gguf_writer.write(o.out, keys_for(state["config"], tokenizer), tensors_for(state["model"]))
    print(
        f"{o.out}: {Path(o.out).stat().st_size} bytes, step {state['step']}, {state['tokens']} "
        "tokens"
    )


if __name__ == "__main__":
    main()
