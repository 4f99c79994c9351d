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

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 760, 260, 70, 40, 46
COLORS = {"resident": "#2563eb", "cached": "#f59e0b", "on disk": "#e5e7eb", "streamed": "#16a34a", "waits": "#dc2626"}


def run(args, *command):
    done = subprocess.run([args.weft, *command, "-m", args.model, "--mem-budget", args.mem_budget, "--weights", "streamed",
                           "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


class Chart:
    """An SVG with axes from 0 on, to which bars or a line are added."""

    def __init__(self, title, x_label, y_label, n, top):
        self.n, self.top = n, top or 1
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
            f'font-size="12"><rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
            f'<text x="{LEFT}" y="18" font-size="14">{title}</text>',
            f'<text x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{x_label}</text>']
        for i in range(5):
            y = self.y(self.top * i / 4)
            self.parts.append(f'<line x1="{LEFT}" x2="{WIDTH - 10}" y1="{y:.1f}" y2="{y:.1f}" stroke="#d1d5db"/>'
                              f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{self.top * i / 4:.3g} '
                              f'{y_label}</text>')
        for i in range(0, n, max(1, n // 12)):
            self.parts.append(f'<text x="{self.x(i + 0.5):.1f}" y="{HEIGHT - BOTTOM + 15}" '
                              f'text-anchor="middle">{i}</text>')

    def x(self, i):
        return LEFT + i * (WIDTH - 10 - LEFT) / self.n

    def y(self, value):
        return HEIGHT - BOTTOM - value / self.top * (HEIGHT - BOTTOM - TOP)

    def bar(self, i, low, high, color):
        self.parts.append(f'<rect x="{self.x(i + 0.1):.1f}" width="{self.x(0.8) - LEFT:.1f}" y="{self.y(high):.1f}" '
                          f'height="{self.y(low) - self.y(high):.1f}" fill="{color}"/>')

    def line(self, values, color):
        points = " ".join(f"{self.x(i + 0.5):.1f},{self.y(value):.1f}" for i, value in enumerate(values))
        self.parts.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"/>')

    def legend(self, names):
        for i, name in enumerate(names):
            x = LEFT + 130 * i
            self.parts.append(f'<rect x="{x}" y="26" width="10" height="10" fill="{COLORS[name]}"/>'
                              f'<text x="{x + 15}" y="35">{name}</text>')

    def write(self, path):
        with open(path, "w", encoding="utf-8") as f:
            f.write("\n".join(self.parts) + "\n</svg>\n")
        print(path)


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
    chart.legend([place for place in ("resident", "streamed", "cached", "on disk")
                  if any(sums[place] > 0 for sums in layers.values())])
    chart.write(os.path.join(args.out, "residency.svg"))


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
    chart.write(os.path.join(args.out, "waits.svg"))


def draw_hits(args):
    row = run(args, "bench", "-p", "0", "-n", "4", "-r", "48", "-c", "128", "--no-limits")["rows"][0]
    hits = [100 * share for share in row["hit_rates"]]
    chart = Chart(f"Experts found in memory when decoding, budget {args.mem_budget}", "four tokens each", "%", len(hits), 100)
    chart.line(hits, COLORS["cached"])
    chart.write(os.path.join(args.out, "hits.svg"))


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
