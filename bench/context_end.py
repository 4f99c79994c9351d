#!/usr/bin/env python3
"""Measures what texts lose that go on at the end of the context (`--context-end`). The model writes
texts with a context that holds all of them; each is read again with a shorter one.

  more     what the loss is above that of the context that holds all of the text
  loss     mean negative log likelihood of the tokens behind the first full context, in nats
  same     the most likely token is that of the context that holds all of the text
  needle   probability of the last token of a name that the text begins with and its end asks for

Each with its standard error over the texts.

  bench/context_end.py -m examples/models/weft-stories.gguf -c 320 --length 1000 -n 24
"""

import argparse
import json
import pathlib
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


def shown(values):
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0
    return f"{statistics.fmean(values):.3f} ± {error:.3f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model", default=ROOT / "examples/models/weft-stories.gguf")
    parser.add_argument("-c", "--context", type=int, default=320)
    parser.add_argument("--length", type=int, default=1000, help="tokens of a text")
    parser.add_argument("-n", "--texts", type=int, default=24)
    parser.add_argument("--build", default=ROOT / "build/release", type=pathlib.Path)
    args = parser.parse_args()
    ways = {}
    command = [args.build / "bin/context_end_bench", args.model, str(args.context),
               str(args.length), str(args.texts)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as bench:
        for line in bench.stdout:
            row = json.loads(line)
            ways.setdefault(row["way"], []).append(row)
    if bench.returncode:
        raise SystemExit(bench.returncode)
    print("| at the end | loss | more | same | needle | tokens dropped |\n|---|---|---|---|---|---|")
    whole = next(iter(ways.values()))
    for way, rows in ways.items():
        for row, full in zip(rows, whole):
            row["more"] = row["loss"] - full["loss"]
        cells = [shown([row[key] for row in rows]) for key in ("loss", "more", "same", "needle")]
        print(f"| {way} | {' | '.join(cells)} | {rows[0]['dropped']} |")


if __name__ == "__main__":
    main()
