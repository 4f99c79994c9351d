#!/usr/bin/env python3
"""Ranks over MPI against one rank, and against the forecast of `weft plan`.

    bench/ranks.py -m MODEL [--weft build/release/bin/weft] [--mpirun mpirun] [--rounds 3]
        [--links none 0.1ms,1Gbit ...] [--networks machine none 1gbit ...] [--shard tp=2 pp=2]

Each rank has one core: with two cores, two ranks are compared with one rank on one core. A network
is the machine itself, or one of namespaces whose links have that bandwidth (rank_network.py; needs
root and Open MPI). Links are as they are ("none"), or slowed down (--slow-link): the way to a
latency, which tc cannot give where the kernel lacks netem. Rounds alternate; prints medians with
their range, the ratio to one rank, and the ratio to the forecast for the link that was measured.
The machine must be quiet.
"""

import argparse
import contextlib
import json
import os
import re
import statistics
import subprocess
import sys

from rank_network import Network


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


def measure(args, launch, shard, link):
    """Tokens per second by phase, the peak of memory of rank 0, and the measured link."""
    flags = ["--shard", shard] if shard else []
    if link != "none":
        flags += ["--slow-link", link]
    out = json.loads(run([*launch, args.weft, "bench", "-m", args.model, "-t", "1", "-p",
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


def compare(args, launch, network, shard, link):
    """Prints the rows of the table for one sharding on one link."""
    rows = {"prefill": [], "decode": []}
    for _ in range(args.rounds):
        alone, _, _ = measure(args, launcher(args, 1), "", "none")
        rates, peak, links = measure(args, launch, shard, link)
        foretold = forecast(args, shard, links[0])
        for phase, row in rows.items():
            row.append((rates[phase], rates[phase] / alone[phase], rates[phase] / foretold[phase]))
    for phase, row in rows.items():
        columns = [spread(column) for column in zip(*row)]
        names = f"{network} | {'as it is' if link == 'none' else link}"
        print(f"| {shard} | {names} | {phase} | {' | '.join(columns)} | {peak / 2**20:.0f} MiB |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", dest="model", required=True)
    parser.add_argument("--weft", default="build/release/bin/weft")
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--links", nargs="+", default=["none"])
    parser.add_argument("--networks", nargs="+", default=["machine"])
    parser.add_argument("--shard", nargs="+", default=["tp=2", "pp=2"])
    args = parser.parse_args()
    print("| ranks | network | link | phase | tokens/s | times one rank | times the forecast | peak of rank 0 |")
    print("|---|---|---|---|---|---|---|---|")
    for shard in args.shard:
        for network in args.networks:
            with contextlib.ExitStack() as stack:
                ranks = ranks_of(shard)
                if network == "machine":
                    launch = launcher(args, ranks)
                else:
                    launch = stack.enter_context(Network(ranks, network)).launcher(args.mpirun)
                for link in args.links:
                    compare(args, launch, network, shard, link)


if __name__ == "__main__":
    main()
