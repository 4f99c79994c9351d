#!/usr/bin/env python3
"""Measures what texts on disk (`weft serve --cache-dir`) save and cost: a prompt is computed, the server
starts again, and the same prompt continues from its files, once from the page cache and once from the
disk.

Prints the seconds to the first token, and the bytes per second of searching, checking and restoring
beside those of a plain read of the same files into a buffer.

  bench/snapshots.py --make 1.1b Q4_K_M -n 4096
"""

import argparse
import asyncio
import os
import pathlib
import random
import re
import statistics
import sys
import tempfile
import time

from agents import make_model
from serve_client import Program, ask, post


ROOT = pathlib.Path(__file__).resolve().parent.parent


def call(server, path, body):
    answer = asyncio.run(ask(server, post(path, body)))
    if answer.status != 200:
        sys.exit(f"{path}: status {answer.status}: {answer.body[:300]!r}")
    return answer.json


def complete(server, prompt):
    answer = call(server, "/completion", {"prompt": prompt, "n_predict": 1, "temperature": 0})
    return answer["timings"]


def metric(server, name):
    text = asyncio.run(ask(server, b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")).body.decode()
    return float(re.search(rf"^weft_{name}(?:{{[^}}]*}})? ([0-9.e+-]+)$", text, re.MULTILINE)[1])


def files(folder):
    return sorted(p for p in pathlib.Path(folder).rglob("*") if p.is_file())


def forget(folder):
    """Drops the files from the page cache."""
    for path in files(folder):
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def plain_read(folder):
    """Bytes per second of reading all files into one buffer."""
    buffer = bytearray(1 << 20)
    n, begin = 0, time.perf_counter()
    for path in files(folder):
        with open(path, "rb", buffering=0) as f:
            while k := f.readinto(buffer):
                n += k
    return n / (time.perf_counter() - begin)


def read_again(model, command, folder, n_tokens, prompt, cold):
    """Seconds to the first token, and the bytes per second of reading and of a plain read."""
    if cold:
        forget(folder)
    plain = plain_read(folder)
    if cold:
        forget(folder)
    with Program(command).start(model, 1, n_tokens + 64) as server:
        timings = complete(server, prompt)
        if timings["cache_n"] < n_tokens - 1:
            sys.exit(f"only {timings['cache_n']} of {n_tokens} tokens were read")
        rate = metric(server, "snapshot_bytes_read_total") / metric(server, "snapshot_seconds_total")
    return timings["prompt_ms"] / 1e3, rate, plain


def measure(model, command, folder, args):
    prompt = [random.Random(1).randrange(300, 1000) for _ in range(args.n)]
    with Program(command).start(model, 1, args.n + 64) as server:
        computed = complete(server, prompt)["prompt_ms"] / 1e3
    size = sum(p.stat().st_size for p in files(folder))
    print(f"{args.n} tokens, {len(files(folder))} files of {size / 2**20:.1f} MiB, "
          f"computed in {computed:.2f} s")
    for name, cold in (("page cache", False), ("disk", True)):
        runs = [read_again(model, command, folder, args.n, prompt, cold) for _ in range(args.r)]
        seconds, rate, plain = (statistics.median(column) for column in zip(*runs))
        print(f"{name}: {seconds:.3f} s, {computed / seconds:.1f} times sooner; "
              f"{rate / 1e9:.2f} GB/s, a plain read {plain / 1e9:.2f} GB/s ({rate / plain:.0%})",
              flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("-m", "--model", type=pathlib.Path)
    p.add_argument("--make", nargs=2, metavar=("SHAPE", "TYPE"), help="a model of random weights")
    p.add_argument("-n", type=int, default=4096, help="tokens of the prompt (4096)")
    p.add_argument("-r", type=int, default=5, help="starts of the server for each row (5)")
    p.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    p.add_argument("--flags", default="", help="further flags of the server")
    args = p.parse_args()
    if bool(args.model) == bool(args.make):
        p.error("give either a model or --make")
    with tempfile.TemporaryDirectory() as made, tempfile.TemporaryDirectory() as folder:
        model = args.model or make_model(args.bin / "weft", *args.make, pathlib.Path(made))
        command = (f"weft={args.bin}/weft serve -m {{model}} --port {{port}} -np {{slots}} "
                   f"-c {{context}} --cache-dir {folder} {args.flags}")
        measure(model, command, folder, args)


if __name__ == "__main__":
    main()
