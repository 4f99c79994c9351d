#!/usr/bin/env python3
"""Runs `weft new-model-check` of every architecture, of those named, or of a tenth of all.

Examples:
  tools/checks/new_models.py
  tools/checks/new_models.py mamba jamba
  tools/checks/new_models.py --tenth 3
"""
import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def architectures():
    """The names in the list of docs/architectures.md, which the docs check compares with the code.
    Its other tables have fewer columns."""
    text = (ROOT / "docs/architectures.md").read_text()
    return re.findall(r"^\| `([\w.-]+)` \|(?:[^|\n]*\|){5}", text, re.MULTILINE)


def check(name):
    done = subprocess.run([ROOT / "build/release/bin/weft", "new-model-check", name],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--tenth", type=int, choices=range(10),
                        help="every tenth name, from this one on")
    args = parser.parse_args()
    names, bad = args.names or architectures(), 0
    if args.tenth is not None:
        names = names[args.tenth::10]
        print(f"repeat: tools/checks/new_models.py --tenth {args.tenth}")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for status, output in pool.map(check, names):
            if status != 0:
                bad += 1
                print(output)
    print(f"{len(names)} architectures, {bad} wrong")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
