#!/usr/bin/env python3
"""Decoding models that are larger than a memory limit: streamed weights against mapped ones.

    sudo bench/larger_than_memory.py -m MODEL --limit 4G [--limit 8G] [--weft build/release/bin/weft]
        [--peer NAME=PROGRAM] [--tokens 32] [--slow-tokens 8] [--rounds 3] [--prompt 128] [--json FILE]
        [--weight-cache DIR]

Runs `weft bench` in a memory control group (version 1 or 2) of each limit, with streamed and with mapped
weights, and the llama-bench of other programs, interleaved over the rounds; before each, the file is
evicted from the page cache. Prints medians and spreads, and of streamed weights the bytes that were
read, the hits, the waits, and the share of what hits and the disk allow. `weft plan --forecast` measures
the disk in each round, as sessions read it, and how fast decoding is with all weights in memory. Weights
that are read in order can be read while others are computed, so that the longer of the two times is the
limit. Experts are known only when the router has spoken: the limit is the sum of both times, which only
guesses can exceed. Needs root for control groups.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time

from control_group import V2, ControlGroup


def memory_limit(limit):
    return ControlGroup("memory", {"memory.max" if V2 else "memory.limit_in_bytes": limit})


def size(text):
    number = re.fullmatch(r"([0-9.]+)([KMGT]?)", text)
    if not number:
        raise argparse.ArgumentTypeError(f"'{text}' is not a size: 4G, 512M")
    return int(float(number[1]) * 1024 ** " KMGT".index(number[2] or " "))


def evict(path):
    """Drops the file from the page cache."""
    fd = os.open(path, os.O_RDONLY)
    os.fdatasync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def peak_rss(process, peak):
    """Follows the largest anonymous memory of a process: what cannot be evicted."""
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/status", encoding="ascii") as f:
                found = re.search(r"RssAnon:\s+(\d+)", f.read())
            peak[0] = max(peak[0], int(found[1]) * 1024 if found else 0)
        except OSError:
            return
        time.sleep(0.05)


def run(command, limit, model):
    """Returns output and the peak of anonymous memory."""
    evict(model)
    group = memory_limit(limit) if limit else None
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   preexec_fn=group.enter if group else None)
        peak = [0]
        follower = threading.Thread(target=peak_rss, args=(process, peak))
        follower.start()
        out, err = process.communicate()
        follower.join()
    finally:
        if group:
            group.close()
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {process.returncode}\n{err.decode()}")
    return out.decode(), peak[0]


def weft(args, mode, limit):
    """One run of `weft bench`: the rows by phase."""
    tokens = args.tokens if mode == "streamed" else args.slow_tokens
    command = [args.weft, "bench", "-m", args.model, "--weights", mode, "-p", str(args.prompt), "-n", str(tokens),
               "-r", "1", "-c", str(args.prompt + args.tokens), "--json", "--no-bandwidth"]
    if mode == "streamed":
        command += ["--mem-budget", str(limit)]
        if args.weight_cache:
            command += ["--weight-cache", args.weight_cache]
    out, peak = run(command, limit, args.model)
    rows = {row["phase"]: row for row in json.loads(out)["rows"]}
    for row in rows.values():
        row["peak"] = peak
    return rows


def peer(args, program, limit):
    command = [program, "-m", args.model, "-p", str(args.prompt), "-n", str(args.slow_tokens), "-r", "1",
               "-t", "2",
               "-o", "json"]
    out, peak = run(command, limit, args.model)
    rows = {}
    for test in json.loads(out[out.index("["):]):
        phase = "prefill" if test["n_prompt"] > 0 else "decode"
        rows[phase] = {"median": test["avg_ts"], "peak": peak}
    return rows


def forecast(args, limit):
    """The speed of the disk, read as sessions read it, and tokens per second of decoding with all weights in
    memory."""
    command = [args.weft, "plan", "-m", args.model, "-c", "1024", "--weights", "streamed", "--mem-budget",
               str(limit - (24 << 20)), "--forecast", "--json"]
    if args.weight_cache:
        command += ["--weight-cache", args.weight_cache]
    plan = json.loads(run(command, None, args.model)[0])
    return (plan["forecast"]["read_bytes_per_second"], plan["forecast"]["depths"][0]["decode"]["in_memory"],
            bool(plan["residency"]["groups"]))


def median(values):
    return statistics.median(values)


def possible(row, forecasts):
    """Tokens per second of decoding that the disk and the experts in memory allow."""
    in_memory = 1 / median([rate for _, rate, _ in forecasts])
    reading = row["disk_bytes_per_token"] / median([speed for speed, _, _ in forecasts])
    is_mixture = forecasts[0][2]
    return 1 / (in_memory + reading if is_mixture else max(in_memory, reading))


def table(args, limit, rows, forecasts):
    speeds = [speed for speed, _, _ in forecasts]
    print(f"\n{os.path.basename(args.model)}, limit {limit / 2**30:.2f} GiB, disk {median(speeds) / 1e9:.2f} GB/s "
          f"({min(speeds) / 1e9:.2f} to {max(speeds) / 1e9:.2f}), decoding in memory "
          f"{median([rate for _, rate, _ in forecasts]):.2f} tokens/s\n")
    print("| program | phase | tokens/s | spread | of mapped | MB/token | hits | waiting | of what is possible "
          "| memory |\n|---|---|---|---|---|---|---|---|---|---|")
    for name, runs in rows.items():
        for phase in ("prefill", "decode"):
            mine = [r[phase] for r in runs if phase in r]
            if not mine:
                continue
            rate = median([r["median"] for r in mine])
            mapped = median([r[phase]["median"] for r in rows["mapped"]])
            cells = ["", "", "", ""]
            if name == "streamed":
                cells = [f"{median([r['disk_bytes_per_token'] for r in mine]) / 1e6:.1f}",
                         f"{100 * median([r['share_of_hits'] for r in mine]):.1f} %",
                         f"{100 * median([r['share_of_waits'] for r in mine]):.0f} %",
                         f"{100 * median([r['median'] / possible(r, forecasts) for r in mine]):.0f} %"
                         if phase == "decode" else ""]
            spread = f"{min(r['median'] for r in mine):.2f} to {max(r['median'] for r in mine):.2f}"
            print(f"| {name} | {phase} | {rate:.2f} | {spread} | {rate / mapped:.2f} | {' | '.join(cells)} "
                  f"| {max(r['peak'] for r in mine) / 2**30:.2f} GiB |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model", required=True)
    parser.add_argument("--limit", type=size, action="append", required=True)
    parser.add_argument("--weft", default="build/release/bin/weft")
    parser.add_argument("--peer", action="append", default=[], help="NAME=llama-bench of another program")
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--slow-tokens", type=int, help="for mapped weights and peers (default: --tokens)")
    parser.add_argument("--prompt", type=int, default=128)
    parser.add_argument("--weight-cache", help="folder for packed weights, for streamed ones")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", help="file for all results")
    args = parser.parse_args()
    args.slow_tokens = args.slow_tokens or args.tokens
    if args.weight_cache:  # made once, outside of the control groups
        run([args.weft, "bench", "-m", args.model, "--weights", "streamed", "--mem-budget", str(min(args.limit)), "-p",
             "0", "-n", "1", "-r", "1", "-c", "128", "--no-limits", "--weight-cache", args.weight_cache], None, args.model)
    results = {}
    for limit in args.limit:
        rows = {"streamed": [], "mapped": []}
        forecasts = []
        for _ in range(args.rounds):
            forecasts.append(forecast(args, limit))
            for mode in ("streamed", "mapped"):
                rows[mode].append(weft(args, mode, limit))
            for named in args.peer:
                name, program = named.split("=", 1)
                rows.setdefault(name, []).append(peer(args, program, limit))
        table(args, limit, rows, forecasts)
        results[limit] = {"rows": rows, "forecasts": forecasts}
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(results, f, indent=1)


if __name__ == "__main__":
    main()
