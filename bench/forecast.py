#!/usr/bin/env python3
"""How well `weft plan --forecast` forecasts `weft bench`.

    bench/forecast.py [-m MODEL ...] [--shapes NAME,...] [--type Q4_K_M] [--folder /tmp]
        [--weft build/release/bin/weft] [--depths 0,4096] [--rounds 3]

For each model, forecasts and measurements alternate; prints the medians of both, and the ratio of
forecast to measurement with the range of the rounds. Without -m, makes a model of each shape that
`weft bench --make-model` knows by name, and removes it afterwards. The machine must be quiet.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def shapes(weft):
    """The names of all shapes."""
    text = run([weft, "bench", "--help"])
    lines = text[text.index("Shapes of --make-model"):text.index("Types: ")].splitlines()[1:]
    return [match[1] for line in lines if (match := re.match(r"  (\S+)\s+D=", line))]


def forecast(args, model):
    """Tokens per second by phase and depth, and the seconds of the start."""
    out = json.loads(run([args.weft, "plan", "-m", model, "--forecast", "--json"] + args.flags))["forecast"]
    rates = {}
    for row in out["depths"]:
        for phase in ("prefill", "decode"):
            if row["depth"] in args.depths and phase in row:
                rates[phase, row["depth"]] = row[phase]["skewed"]["tokens_per_second"]
    return rates


def measure(args, model, depths, phases):
    """The same, measured."""
    deepest = max(depths)
    out = json.loads(run([args.weft, "bench", "-m", model, "-p", "512", "-n", "32" if "decode" in phases else "0",
                          "-d", ",".join(map(str, depths)), "-c", str(deepest + 512), "-r", "1", "--json",
                          "--no-limits"] + args.flags))
    return {(row["phase"], row["depth"]): row["median"] for row in out["rows"]}


def compare(args, model, name):
    """Prints a row for each phase and depth. Returns the ratios."""
    rounds = []
    for _ in range(args.rounds):
        forecasts = forecast(args, model)
        depths = sorted({depth for _, depth in forecasts})
        rounds.append((forecasts, measure(args, model, depths, {phase for phase, _ in forecasts})))
    medians = []
    for key in rounds[0][0]:
        ratios = [f[key] / m[key] for f, m in rounds]
        medians.append(statistics.median(ratios))
        print(f"| {name} | {key[0]} | {key[1]} | {statistics.median(f[key] for f, _ in rounds):.4g} "
              f"| {statistics.median(m[key] for _, m in rounds):.4g} | {medians[-1]:.2f} "
              f"| {min(ratios):.2f} to {max(ratios):.2f} |", flush=True)
    return medians


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model", action="append", default=[])
    parser.add_argument("--shapes", help="only these")
    parser.add_argument("--type", default="Q4_K_M")
    parser.add_argument("--folder", default="/tmp")
    parser.add_argument("--weft", default="build/release/bin/weft")
    parser.add_argument("--depths", default="0,4096")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--flags", default="", help="further flags of both, separated by spaces")
    args = parser.parse_args()
    args.depths = [int(depth) for depth in args.depths.split(",")]
    args.flags = args.flags.split()
    print("| model | phase | depth | forecast | measured | forecast / measured | rounds |\n"
          "|---|---|---|---|---|---|---|")
    ratios = []
    for model in args.model:
        ratios += compare(args, model, os.path.basename(model))
    names = [] if args.model else args.shapes.split(",") if args.shapes else shapes(args.weft)
    for name in names:
        path = os.path.join(args.folder, f"forecast-{name}.gguf")
        try:
            run([args.weft, "bench", "--make-model", name, args.type, path])
            ratios += compare(args, path, name)
        finally:
            if os.path.exists(path):
                os.remove(path)
    if not ratios:
        sys.exit("nothing was compared")
    within = sum(1 for ratio in ratios if 1 / 1.15 <= ratio <= 1.15)
    print(f"\n{within} of {len(ratios)} medians are within 15 %; {min(ratios):.2f} to {max(ratios):.2f}")


if __name__ == "__main__":
    main()
