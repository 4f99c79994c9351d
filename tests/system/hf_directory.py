"""Writes the directory that a GGUF file could have been converted from: model.safetensors (whole or
in shards), config.json, tokenizer.json and related files. Uses only the standard library, and reads
the GGUF file with `weft inspect --json --full`."""
import json
import math
import os
import struct
import subprocess

SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
PATTERNS = {
    "llama-bpe": CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
            + SPACES,
    "qwen2": CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + SPACES,
}
NAMES = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
         "attn_q": "self_attn.q_proj",
         "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
         "attn_output": "self_attn.o_proj",
         "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm",
         "ffn_gate": "mlp.gate_proj",
         "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}
OUTSIDE = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}


def inspect(weft, path):
    return json.loads(subprocess.run([weft, "inspect", "-m", path, "--json", "--full"], check=True,
                                     capture_output=True).stdout)


def hf_name(name):
    base, kind = name.rsplit(".", 1)
    if base.startswith("blk."):
        _, layer, leaf = base.split(".")
        return f"model.layers.{layer}.{NAMES[leaf]}.{kind}"
    return f"{OUTSIDE[base]}.{kind}"


def in_halves(rows, heads):
    """Reorders rows of adjacent pairs: per head, the first of all pairs, then the second of all
    pairs."""
    width = len(rows) // heads
    return [rows[h * width + r] for h in range(heads) for r in [*range(0, width, 2),
                                                                *range(1, width, 2)]]


def cut_to_bf16(data):
    return b"".join(data[i + 2:i + 4] for i in range(0, len(data), 4))


def write_safetensors(path, tensors):
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for _, _, data in tensors.values():
            f.write(data)


def config_of(meta):
    arch = meta["general.architecture"]["value"]

    def get(key):
        return meta.get(f"{arch}.{key}", {}).get("value")

    config = {"model_type": arch, "architectures": [arch.capitalize() + "ForCausalLM"],
              "hidden_act": "silu",
              "hidden_size": get("embedding_length"), "num_hidden_layers": get("block_count"),
              "intermediate_size": get("feed_forward_length"),
              "num_attention_heads": get("attention.head_count"),
              "num_key_value_heads": get("attention.head_count_kv"),
              "max_position_embeddings": get("context_length"),
              "rms_norm_eps": get("attention.layer_norm_rms_epsilon"),
              "rope_theta": get("rope.freq_base") or 10000.0}
    if get("attention.key_length"):
        config["head_dim"] = get("attention.key_length")
    if get("rope.scaling.type") == "linear":
        config["rope_scaling"] = {"type": "linear", "factor": get("rope.scaling.factor")}
    return config


def sentencepiece_merges(tokens, scores, types):
    """All pairs of tokens that form a token, best token first, as transformers writes a
    SentencePiece model."""
    ids = {t: i for i, t in enumerate(tokens) if types[i] not in (2, 3, 6)}
    merges = []
    for text, i in ids.items():
        pairs = [(text[:c], text[c:]) for c in range(1, len(text)) if text[:c] in ids and text[c:]
                 in ids]
        merges += [(-scores[i], ids[left], ids[right], left, right) for left, right in pairs]
    return [[left, right] for _, _, _, left, right in sorted(merges)]


def tokenizer_of(meta, pairs):
    """tokenizer.json and tokenizer_config.json. `pairs`: merges as lists of two, not as one
    string."""

    def get(key, default=None):
        return meta.get("tokenizer.ggml." + key, {}).get("value", default)

    types = get("token_type")
    tokens = [t if isinstance(t, str) else bytes.fromhex(t["hex"]).decode("utf-8", "replace") for t
              in get("tokens")]
    added = [{"id": i, "content": t, "special": types[i] in (2, 3)} for i, t in enumerate(tokens)
             if types[i] in (2, 3, 4)]
    vocab = {t: i for i, t in enumerate(tokens) if types[i] in (1, 6)}
    model = {"type": "BPE", "vocab": vocab}
    whole = {"model": model, "added_tokens": added}
    if get("model") == "gpt2":
        pre = get("pre")
        stages = [{"type": "ByteLevel", "add_prefix_space": False, "use_regex": pre == "gpt-2"}]
        if pre in PATTERNS:
            stages.insert(0, {"type": "Split", "pattern": {"Regex": PATTERNS[pre]},
                              "behavior": "Isolated", "invert": False})
        whole["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": stages}
        model["ignore_merges"] = pre == "llama-bpe"
        merges = [m.split(" ") for m in get("merges")]
    else:
        model["byte_fallback"] = True
        space = "\u2581"
        steps = [{"type": "Replace", "pattern": {"String": " "}, "content": space}]
        if get("add_space_prefix", True):
            steps.insert(0, {"type": "Prepend", "prepend": space})
        whole["normalizer"] = {"type": "Sequence", "normalizers": steps}
        merges = sentencepiece_merges(tokens, get("scores"), types)
        unknown = [i for i, t in enumerate(types) if t == 2]
        if unknown:
            model["unk_token"] = tokens[unknown[0]]
            vocab[tokens[unknown[0]]] = unknown[0]
    model["merges"] = merges if pairs else [" ".join(m) for m in merges]
    about = {}
    for ours, theirs in [("bos", "bos_token"), ("eos", "eos_token")]:
        if get(ours + "_token_id") is not None:
            about[theirs] = {"content": tokens[get(ours + "_token_id")]} if pairs else tokens[get(ours + "_token_id")]
    about["add_bos_token"] = get("add_bos_token", get("model") == "llama")
    if "tokenizer.chat_template" in meta:
        about["chat_template"] = meta["tokenizer.chat_template"]["value"]
    return whole, about


def write_hf_directory(weft, gguf, folder, shards=1, pairs=False, bf16=False):
    """`bf16`: truncates the weights to BF16 (the GGUF file must be F32)."""
    about = inspect(weft, gguf)
    meta = about["metadata"]
    arch = meta["general.architecture"]["value"]
    config = config_of(meta)
    with open(gguf, "rb") as f:
        data = f.read()
    tensors = {}
    for t in about["tensors"]:
        shape, raw = t["shape"], data[t["offset"]:t["offset"] + t["bytes"]]
        if arch == "llama" and t["name"].endswith((".attn_q.weight", ".attn_k.weight")):
            heads = config["num_attention_heads" if ".attn_q." in t["name"]
                           else "num_key_value_heads"]
            size = len(raw) // shape[0]
            raw = b"".join(in_halves([raw[i * size:(i + 1) * size] for i in range(shape[0])],
                                     heads))
        tensors[hf_name(t["name"])] = ("BF16", shape, cut_to_bf16(raw)) if bf16 else (t["type"],
                                                                                      shape, raw)
    config["vocab_size"] = tensors["model.embed_tokens.weight"][1][0]
    config["tie_word_embeddings"] = "lm_head.weight" not in tensors
    os.makedirs(folder, exist_ok=True)

    def save(name, value):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
            json.dump(value, out)

    if shards == 1:
        write_safetensors(os.path.join(folder, "model.safetensors"), tensors)
    else:
        names, index = list(tensors), {}
        each = math.ceil(len(names) / shards)
        for s in range(shards):
            file = f"model-{s + 1:05d}-of-{shards:05d}.safetensors"
            own = names[s * each:(s + 1) * each]
            index.update({name: file for name in own})
            write_safetensors(os.path.join(folder, file), {name: tensors[name] for name in own})
        save("model.safetensors.index.json", {"metadata": {"total_size": len(data)},
                                              "weight_map": index})
    save("config.json", config)
    save("generation_config.json", {})
    if "tokenizer.ggml.tokens" in meta:
        tokenizer, about = tokenizer_of(meta, pairs)
        save("tokenizer.json", tokenizer)
        save("tokenizer_config.json", about)
    return config
