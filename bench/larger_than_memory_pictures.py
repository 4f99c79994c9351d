#!/usr/bin/env python3
"""Draws where the weights of a model larger than memory are, and what steps wait for.

    bench/larger_than_memory_pictures.py -m MODEL --mem-budget 7G -o FOLDER [--weft build/release/bin/weft]

Writes residency.svg (bytes of each layer by their place, `weft plan`), waits.svg (time of lanes that wait
for the experts of each layer, `weft profile`) and hits.svg (experts found in memory, in
repetitions of four tokens after as many to warm up, `weft bench`). The last two are of decoding, and only for mixtures of experts.
"""

import argparse
import json
import os
import re
import subprocess
import sys

from chart import Chart, write_charts

COLORS = {"resident": "#2563eb", "cached": "#f59e0b", "on disk": "#e5e7eb", "streamed": "#16a34a", "waits": "#dc2626"}


def run(args, *command):
    done = subprocess.run([args.weft, *command, "-m", args.model, "--mem-budget", args.mem_budget, "--weights", "streamed",
                           "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def layer_of(name):
    found = re.match(r"blk\.(\d+)\.", name)
    return int(found[1]) if found else None


def draw_residency(args, plan):
    residency = plan["residency"]
    layers = {}
    shares = {}  # of the experts in memory, by tensor
    for group in residency["groups"]:
        slots = residency["slots"][group["slots"]]
        shares.update(dict.fromkeys(group["weights"], slots["slots"] / slots["experts"]))
    for tensor in residency["tensors"]:
        layer = layer_of(tensor["name"])
        if layer is None:
            continue
        sums = layers.setdefault(layer, dict.fromkeys(("resident", "streamed", "cached", "on disk"), 0))
        share = min(1, shares.get(tensor["name"], 1))
        place = tensor["place"] if tensor["place"] in sums else "resident"
        sums[place] += tensor["bytes"] * share / 2**20
        sums["on disk"] += tensor["bytes"] * (1 - share) / 2**20
    n = max(layers) + 1
    chart = Chart(f"Where the weights of a layer are, budget {args.mem_budget}", "layer", "MiB", n,
                  max(sum(sums.values()) for sums in layers.values()))
    for layer, sums in layers.items():
        low = 0
        for place, size in sums.items():
            chart.bar(layer, low, low + size, COLORS[place])
            low += size
    chart.legend({place: COLORS[place] for place in ("resident", "streamed", "cached", "on disk")
                  if any(sums[place] > 0 for sums in layers.values())})
    write_charts([chart], os.path.join(args.out, "residency.svg"))


def draw_waits(args):
    profile = run(args, "profile", "-p", "0", "-n", "32", "-r", "1", "-c", "128")
    phase = profile["phases"][0]
    stream = phase["stream"]
    shares = {layer_of(group["weights"]): 100 * group["wait_ns"] / stream["wall_ns"] / phase["workers"]
              for group in stream["groups"]}
    chart = Chart(f"Time of lanes that wait for experts when decoding, budget {args.mem_budget}", "layer", "%",
                  max(shares) + 1, max(shares.values()))
    for layer, share in shares.items():
        chart.bar(layer, 0, share, COLORS["waits"])
    write_charts([chart], os.path.join(args.out, "waits.svg"))


def draw_hits(args):
    row = run(args, "bench", "-p", "0", "-n", "4", "-r", "48", "-c", "128", "--no-limits")["rows"][0]
    hits = [100 * share for share in row["hit_rates"]]
    chart = Chart(f"Experts found in memory when decoding, budget {args.mem_budget}", "four tokens each", "%", len(hits), 100)
    chart.line(hits, COLORS["cached"])
    write_charts([chart], os.path.join(args.out, "hits.svg"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model", required=True)
    parser.add_argument("--mem-budget", required=True)
    parser.add_argument("-o", "--out", required=True)
    parser.add_argument("--weft", default="build/release/bin/weft")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    plan = run(args, "plan", "-c", "128")
    draw_residency(args, plan)
    if plan["residency"]["groups"]:
        draw_waits(args)
        draw_hits(args)


if __name__ == "__main__":
    main()
