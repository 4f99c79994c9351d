#!/usr/bin/env python3
"""Runs `weft new-model-check` of every architecture.

Architectures in tools/checks/new_models_failing.txt are known to fail: one that passes must leave
the list.

Examples:
  tools/checks/new_models.py
  tools/checks/new_models.py mamba jamba
"""
import concurrent.futures
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def architectures():
    """The names in the list of docs/architectures.md, which the docs check compares with the code."""
    text = (ROOT / "docs/architectures.md").read_text()
    return re.findall(r"^\| `([\w.-]+)` \|", text, re.MULTILINE)


def failing():
    lines = (ROOT / "tools/checks/new_models_failing.txt").read_text().splitlines()
    return {line.split("#")[0].strip() for line in lines} - {""}


def check(name):
    done = subprocess.run([ROOT / "build/release/bin/weft", "new-model-check", name],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def main():
    names = sys.argv[1:] or architectures()
    known, bad = failing(), 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name, (status, output) in zip(names, pool.map(check, names)):
            if (status != 0) == (name in known):
                continue
            bad += 1
            print(f"{name}: passes, so take it from the list" if name in known else output)
    print(f"{len(names)} architectures, {len(known & set(names))} known to fail, {bad} wrong")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
