#!/usr/bin/env python3
"""What types of the cache cost: the loss and the divergence of a model whose keys and values are kept
in each, with and without the pass turn_cache, and decode at depth.

    bench/cache_types.py [--types q8_0,q4_0] [--chunks 40] [--weft build/release/bin/weft]
    bench/cache_types.py --speed MODEL [--depths 4096,16384] [--rounds 5]

The first form runs the bundled model over stories like those it was trained on, and a copy of it that
computes the same, but has keys with outliers: in each head, one pair of channels that rope rotates
together is 16 times as large, and that of the queries a 16th. Prints the perplexity, the mean
Kullback-Leibler divergence from the same model with a cache of F16, each with its standard error, and
how often the best token is the same one.

The second form interleaves the types, and prints the median and the spread of tokens/s.
"""

import argparse
import json
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUNDLED = ROOT / "examples/models/weft-stories.gguf"
BLOCK = 34  # bytes of a block of Q8_0: a scale in F16, 32 codes
FACTOR = 16


def call(*command):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True).stdout


def stories(path):
    documents = call(sys.executable, ROOT / "tools/train/corpus.py", "--seed", 4711, "--count",
                     3000).decode().split("\n\n----\n")
    path.write_text("\n\n".join(d for d in documents if d and "<|" not in d), encoding="utf-8")


def with_outliers(weft, path):
    """Scales the rows of a pair of channels in the projections of keys, and inversely of queries."""
    about = json.loads(call(weft, "inspect", BUNDLED, "--json"))
    size = about["metadata"]["llama.rope.dimension_count"]["value"]
    data = bytearray(BUNDLED.read_bytes())
    for tensor in about["tensors"]:
        name = tensor["name"].split(".")
        if len(name) < 3 or name[2] not in ("attn_k", "attn_q"):
            continue
        rows, cols = tensor["shape"]
        factor = FACTOR if name[2] == "attn_k" else 1 / FACTOR
        pair = 2 * (7 + 5 * int(name[1]))  # another one in each layer
        for row in (r for r in range(rows) if r % size in (pair, pair + 1)):
            begin = tensor["offset"] + row * cols // 32 * BLOCK
            for at in range(begin, begin + cols // 32 * BLOCK, BLOCK):
                scale, = struct.unpack_from("<e", data, at)
                struct.pack_into("<e", data, at, scale * factor)
    path.write_bytes(data)


def flags(keys, values):
    return ["--cache-type-k", keys, "--cache-type-v", values]


def quality(weft, types, chunks, folder):
    stories(folder / "text")
    with_outliers(weft, folder / "outliers.gguf")
    runs = [(t, t, turned) for t in types for turned in (False, True)]
    for name, model in (("as trained", BUNDLED), ("outliers in keys", folder / "outliers.gguf")):
        logits = folder / "logits"
        base = ["perplexity", "-m", model, "--chunks", chunks, "--json"]
        plain = json.loads(call(weft, *base, "-f", folder / "text", *flags("f16", "f16"),
                                "--save-logits", logits))
        print(f"{name}: f16 has a perplexity of {plain['perplexity']['value']:.4f}")
        print("| type | turned | perplexity | divergence | same best token |\n|---|---|---|---|---|")
        for keys, values, turned in runs:
            off = [] if turned else ["--no-pass", "turn_cache"]
            got = json.loads(call(weft, *base, *flags(keys, values), *off, "--kl", logits))
            far, top = (got["comparison"][name] for name in ("divergence", "same_top"))
            print(f"| {keys} | {'yes' if turned else 'no'} | {got['perplexity']['value']:.4f} "
                  f"| {far['value']:.2e} ± {far['error']:.0e} | {100 * top['value']:.2f} % |", flush=True)


def speed(weft, types, model, depths, rounds):
    print("| depth | " + " | ".join(types) + " |\n|---" + "|---" * len(types) + "|")
    for depth in depths:
        rates = {t: [] for t in types}
        for _ in range(rounds):
            for t in types:
                out = json.loads(call(weft, "bench", "-m", model, "-p", 0, "-n", 16, "-r", 1, "-d", depth,
                                      *flags(t, t), "--json"))
                rates[t] += [row["median"] for row in out["rows"] if row["phase"] == "decode"]
        cells = (f"{statistics.median(r):.2f} ({min(r):.2f} to {max(r):.2f})" for r in rates.values())
        print(f"| {depth} | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--types", default="")
    parser.add_argument("--chunks", default=40, type=int)
    parser.add_argument("--weft", default=ROOT / "build/release/bin/weft", type=pathlib.Path)
    parser.add_argument("--speed", metavar="MODEL")
    parser.add_argument("--depths", default="4096,16384")
    parser.add_argument("--rounds", default=5, type=int)
    args = parser.parse_args()
    if args.speed:
        types = (args.types or "f16,q8_0,q5_1,q5_0,q4_0").split(",")
        return speed(args.weft, types, args.speed, [int(d) for d in args.depths.split(",")], args.rounds)
    with tempfile.TemporaryDirectory() as folder:
        types = (args.types or "q8_0,q5_1,q5_0,q4_1,q4_0").split(",")
        return quality(args.weft, types, args.chunks, pathlib.Path(folder))


if __name__ == "__main__":
    main()
