#!/usr/bin/env python3
"""The C API against `generate`: tokens per second of the same text, alternating, with medians and
spreads; how long libweft.so takes to load, and how large it is.

    bench/c_api.py [--bin build/release/bin] [--model FILE] [--tokens 200] [--rounds 15]"""

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]


def run(*args):
    return subprocess.run([str(a) for a in args], check=True, capture_output=True, text=True)


def rate_of_generate(bin_folder, model, n):
    r = run(bin_folder / "generate", "-m", model, "-n", n, "--temp", 0, "--ignore-eos", "-p",
            "Once upon a time")
    return float(re.findall(r"([\d.]+) tokens/s", r.stderr)[-1])


def spread(values):
    middle = statistics.median(values)
    return statistics.median(abs(v - middle) for v in values)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    p.add_argument("--model", default=ROOT / "examples/models/weft-stories.gguf")
    p.add_argument("--tokens", type=int, default=200)
    p.add_argument("--rounds", type=int, default=15)
    args = p.parse_args()
    bench, library = args.bin / "c_api_bench", args.bin.parent / "lib/libweft.so"

    ratios, rates = [], {"generate": [], "text": [], "steps": []}
    for _ in range(args.rounds):
        rates["generate"].append(rate_of_generate(args.bin, args.model, args.tokens))
        for what in ("text", "steps"):
            rates[what].append(float(run(bench, what, args.model, args.tokens).stdout))
        ratios.append([rates[what][-1] / rates["generate"][-1] for what in ("text", "steps")])
    for what, values in rates.items():
        print(f"{what:9} {statistics.median(values):10.1f} tokens/s, spread {spread(values):.1f}")
    for i, what in enumerate(("text", "steps")):
        values = [r[i] for r in ratios]
        print(f"{what:9} {statistics.median(values):10.3f} of generate, spread {spread(values):.3f}")

    times = [float(run(args.bin / "c_api_start", library).stdout) for _ in range(args.rounds)]
    with tempfile.TemporaryDirectory() as folder:
        stripped = os.path.join(folder, "libweft.so")
        run("strip", "-o", stripped, library)
        print(f"start     {statistics.median(times):10.2f} ms, spread {spread(times):.2f}\n"
              f"size      {os.path.getsize(stripped) / 1e6:10.1f} MB stripped")


if __name__ == "__main__":
    main()
