#!/usr/bin/env python3
"""Counts instructions per token of the bundled model and compares them with the committed figures.

Time differs from machine to machine and run to run; the number of instructions does not. valgrind knows no AVX-512, so the
AVX2 rows are counted, with one worker and mapped weights. A count that is more than 5 % above its figure in
bench/instructions.json fails; one that is more than 5 % below asks for a new figure, which --renew writes.

Examples:
  bench/instructions.py
  bench/instructions.py --renew
"""
import argparse
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
TOLERANCE = 0.05


def count(program, *arguments):
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(program), *arguments,
               "-m", str(MODEL), "-t", "1", "--weights", "mapped"]
    run = subprocess.run(command, env={**os.environ, "WEFT_CPU_ISA": "avx2"}, stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, text=True)
    found = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode != 0 or not found:
        sys.exit(f"{' '.join(command)}\nfailed with exit code {run.returncode}:\n{run.stderr[-2000:]}")
    return int(found.group(1))


def measure(bin_dir):
    """Instructions per token: what more tokens cost beyond one."""
    def decode(n):
        return count(bin_dir / "generate", "-p", "Once upon a time", "-n", str(n), "--temp", "0", "--ignore-eos")

    def prefill(n):
        with tempfile.TemporaryDirectory() as folder:
            ids = ",".join(str(3 + i * 7919 % 400) for i in range(n))
            return count(bin_dir / "weft", "logits", "--tokens", ids, "-o", f"{folder}/logits.npy")

    start = decode(1)
    return {"start": start,
            "decode token": (decode(65) - start) // 64,
            "prefill token": (prefill(257) - prefill(1)) // 256}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin", help="folder of the programs")
    parser.add_argument("--renew", action="store_true", help="write what is measured as the new figures")
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
            print(f"  more than {100 * TOLERANCE:.0f} % above the figure: slower, or worth a new figure (--renew)")
            failed = True
        if change < -TOLERANCE:
            print("  faster: keep it so with a new figure (--renew)")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
