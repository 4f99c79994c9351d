#!/usr/bin/env python3
"""Counts instructions with the bundled model and compares them with the committed figures.

Time differs between machines and runs; the number of instructions does not. valgrind does not support
AVX-512, so the AVX2 rows are counted, with one worker and mapped weights. A count that is more than
5 % above its figure in bench/instructions.json is an error; for one that is more than 5 % below, the
script suggests a new figure, which --renew writes.

  start                 generate, up to the first token
  decode token          each further token of generate
  prefill token         each token of a prompt
  tokenizer byte        encoding and decoding a byte of text
  schema                compiling bench/mask_case.json, a JSON Schema
  masked token          the mask and the check of each token of its texts, as MaskBench counts them

Examples:
  bench/instructions.py
  bench/instructions.py --renew
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIGURES = ROOT / "bench" / "instructions.json"
MODEL = ROOT / "examples" / "models" / "weft-stories.gguf"
TEXT = ROOT / "LICENSE"
TOLERANCE = 0.05


def count(program, *arguments):
    """Instructions of a run, and its output."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(program),
               *map(str, arguments)]
    run = subprocess.run(command, env={**os.environ, "WEFT_CPU_ISA": "avx2", "WEFT_TUNE": "off"}, capture_output=True)
    out, err = (text.decode("utf-8", "replace") for text in (run.stdout, run.stderr))
    found = re.search(r"Collected : (\d+)", err)
    if run.returncode != 0 or not found:
        sys.exit(f"{' '.join(command)}\nfailed with exit code {run.returncode}:\n{err[-2000:]}")
    return int(found.group(1)), out


def runs(bin_dir, folder):
    """The commands to count, by name."""
    frugal = ("-m", MODEL, "-t", "1", "--weights", "mapped")

    def decode(n):
        return bin_dir / "generate", "-p", "Once upon a time", "-n", n, "--temp", "0", "--ignore-eos", *frugal

    def prefill(n):
        ids = ",".join(str(3 + i * 7919 % 400) for i in range(n))
        return bin_dir / "weft", "logits", "--tokens", ids, "-o", folder / f"{n}.npy", *frugal

    def masks(name, case):
        path = folder / f"{name}.json"
        path.write_text(json.dumps(case))
        return bin_dir / "mask_bench", MODEL, path

    case = json.loads((ROOT / "bench/mask_case.json").read_text())
    return {"decode 1": decode(1), "decode 65": decode(65), "prefill 1": prefill(1),
            "prefill 257": prefill(257),
            "encode 1": (bin_dir / "tokenizer_bench", MODEL, TEXT, 1),
            "encode 5": (bin_dir / "tokenizer_bench", MODEL, TEXT, 5),
            "no schema": masks("none", {"schema": True, "tests": []}),
            "schema": masks("schema", {**case, "tests": []}),
            "masks": masks("masks", case)}


def measure(bin_dir):
    """Instructions per unit of work: the difference of two runs over the additional work."""
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        commands = runs(bin_dir, pathlib.Path(folder))
        results = dict(zip(commands, pool.map(lambda command: count(*command), commands.values())))
    n = {name: result[0] for name, result in results.items()}
    n_masked = sum(int(times) for times in re.findall(r"texts? .* (\d+) times",
                                                      results["masks"][1]))
    return {"start": n["decode 1"],
            "decode token": (n["decode 65"] - n["decode 1"]) // 64,
            "prefill token": (n["prefill 257"] - n["prefill 1"]) // 256,
            "tokenizer byte": (n["encode 5"] - n["encode 1"]) // (4 * TEXT.stat().st_size),
            "schema": n["schema"] - n["no schema"],
            "masked token": (n["masks"] - n["schema"]) // n_masked}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin",
                        help="folder of the programs")
    parser.add_argument("--renew", action="store_true", help="write the counts as the new figures")
    options = parser.parse_args()

    measured = measure(options.bin)
    if options.renew:
        FIGURES.write_text(json.dumps(measured, indent=1) + "\n")
    figures = json.loads(FIGURES.read_text())
    failed = False
    for name, figure in figures.items():
        change = measured[name] / figure - 1
        print(f"{name:<14} {measured[name]:>12,} instructions, {figure:>12,} committed, {100 * change:+.1f} %")
        if change > TOLERANCE:
            print(f"  more than {100 * TOLERANCE:.0f} % above the figure: fix it, or accept it with --renew")
            failed = True
        if change < -TOLERANCE:
            print("  faster: renew the figure to keep it (--renew)")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
