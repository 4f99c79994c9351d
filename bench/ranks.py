#!/usr/bin/env python3
"""Ranks over MPI against one rank, and against the forecast of `weft plan`.

    bench/ranks.py -m MODEL [--weft build/release/bin/weft] [--mpirun mpirun] [--rounds 3]
        [--links none,0.1ms,1Gbit none,...] [--shard tp=2 pp=2]

Each rank has one core: with two cores, two ranks are compared with one rank on one core. Links are
those of the machine ("none"), or slowed down (--slow-link). Rounds alternate; prints medians with
their range, the ratio to one rank, and the ratio to the forecast for the link that was measured.
The machine must be quiet.
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


def launcher(args, ranks):
    """A command that starts ranks, each on one core."""
    if ranks == 1:
        return ["taskset", "-c", "0"]
    version = run([args.mpirun, "--version"])
    if "Open MPI" not in version and "open-mpi" not in version:
        return [args.mpirun, "-bind-to", "core", "-n", str(ranks)]
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return [args.mpirun, *root, "--bind-to", "core", "-n", str(ranks)]


def ranks_of(shard):
    n = 1
    for number in re.findall(r"=(\d+)", shard):
        n *= int(number)
    return n


def measure(args, shard, link):
    """Tokens per second by phase, the peak of memory of rank 0, and the measured link."""
    flags = ["--shard", shard] if shard else []
    if link != "none":
        flags += ["--slow-link", link]
    out = json.loads(run([*launcher(args, ranks_of(shard)), args.weft, "bench", "-m", args.model, "-t", "1", "-p",
                          "512", "-n", "32", "-r", "1", "--no-limits", "--json", *flags]))
    rates = {row["phase"]: row["median"] for row in out["rows"]}
    return rates, max(row["peak_rss"] for row in out["rows"]), out["links"]


def forecast(args, shard, link):
    """The same from the header, for a link as it was measured."""
    bits = link["bytes_per_second"] * 8
    text = run(["taskset", "-c", "0", args.weft, "plan", "-m", args.model, "-t", "1", "--shard", shard, "--forecast",
                "--link", f"{link['latency_seconds'] * 1e6:.3f}us,{bits / 1e9:.3f}Gbit"])
    rates = re.search(r"prefill ([\d.]+) tokens/s, decode ([\d.]+) tokens/s", text)
    return {"prefill": float(rates[1]), "decode": float(rates[2])}


def spread(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", dest="model", required=True)
    parser.add_argument("--weft", default="build/release/bin/weft")
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--links", nargs="+", default=["none"])
    parser.add_argument("--shard", nargs="+", default=["tp=2", "pp=2"])
    args = parser.parse_args()
    print("| ranks | link | phase | tokens/s | times one rank | times the forecast | peak of rank 0 |")
    print("|---|---|---|---|---|---|---|")
    for shard in args.shard:
        for link in args.links:
            rows = {"prefill": [], "decode": []}
            for _ in range(args.rounds):
                alone, _, _ = measure(args, "", "none")
                rates, peak, links = measure(args, shard, link)
                foretold = forecast(args, shard, links[0])
                for phase, row in rows.items():
                    row.append((rates[phase], rates[phase] / alone[phase], rates[phase] / foretold[phase]))
            for phase, row in rows.items():
                columns = [spread(column) for column in zip(*row)]
                name = "of the machine" if link == "none" else link
                print(f"| {shard} | {name} | {phase} | {' | '.join(columns)} | {peak / 2**20:.0f} MiB |", flush=True)


if __name__ == "__main__":
    main()
