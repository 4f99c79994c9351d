#!/usr/bin/env python3
"""Measures whether one key of `weft serve` can tell by the time of an answer that another key sent
the same prompt. Bob sends prompts that Alice has sent, and prompts that nobody has, in turn; for
comparison, Alice sends hers again. Needs a quiet machine. Exit code 1 if the first two can be told
apart: if the medians differ by more than three times their standard errors.

  bench/neighbours.py -m examples/models/weft-stories.gguf -n 100
"""

import argparse
import asyncio
import pathlib
import random
import statistics
import sys

from serve_client import Program, ask, post

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORDS = "the fox saw a boat and ran home to tell Ben of red stones in old trees by night".split()


def milliseconds(server, key, prompt):
    """From the request to the end of an answer of one token."""
    body = {"prompt": prompt, "n_predict": 1, "temperature": 0}
    header = f"Authorization: Bearer {key}\r\n".encode()
    answer = asyncio.run(ask(server, post("/completion", body, header)))
    if answer.status != 200:
        sys.exit(f"status {answer.status}: {answer.body[:300]!r}")
    return answer.parts[-1][0] * 1e3


def error(values):
    """Of the median, for values that vary about normally."""
    return 1.2533 * statistics.stdev(values) / len(values) ** 0.5


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("-m", "--model", type=pathlib.Path, required=True)
    p.add_argument("-n", type=int, default=100, help="prompts of each kind (100)")
    p.add_argument("--words", type=int, default=300, help="of a prompt (300)")
    p.add_argument("--flags", default="", help="more flags of the server")
    p.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    args = p.parse_args()
    command = f"weft={args.bin}/weft serve -m {{model}} --port {{port}} --api-key alice,bob"
    rng = random.Random(1)
    text = lambda: " ".join(rng.choice(WORDS) for _ in range(args.words))
    times = {"that Alice has sent": [], "that nobody has sent": [], "of her own": []}
    with Program(f"{command} {args.flags}").start(args.model, 4, 0) as server:
        for _ in range(args.n):
            shared, fresh = text(), text()
            milliseconds(server, "alice", shared)
            turns = [("that Alice has sent", "bob", shared), ("that nobody has sent", "bob", fresh)]
            rng.shuffle(turns)
            for kind, key, prompt in [*turns, ("of her own", "alice", shared)]:
                times[kind].append(milliseconds(server, key, prompt))
    for kind, values in times.items():
        print(f"prompts {kind:22} {statistics.median(values):8.3f} ms +- {error(values):.3f}")
    a, b = list(times.values())[:2]
    distance = abs(statistics.median(a) - statistics.median(b)) / (error(a)**2 + error(b)**2) ** 0.5
    print(f"the first two differ by {distance:.1f} standard errors")
    return distance > 3


if __name__ == "__main__":
    sys.exit(main())
