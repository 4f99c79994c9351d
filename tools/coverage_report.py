#!/usr/bin/env python3
"""Prints the line coverage of each folder from gcovr's JSON, and the files with low coverage, with
their longest stretches of lines that did not run.

Examples:
  tools/coverage_report.py build/coverage/lines.json build/coverage/tests.xml
"""
import argparse
import collections
import itertools
import json
import pathlib
import re
import sys
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
WANTED = 0.9


def folders():
    """Folders whose lines are counted together: the layers in their order, the backends, and the
    rest."""
    text = (ROOT / "cmake/Layers.cmake").read_text()
    layers = [layer for names in re.findall(r"set\(WEFT_(?:SERVER_)?LAYERS\s([^)]*)\)", text)
              for layer in re.findall(r"=([\w/]+)", names)]
    parts = ["backends/src/cpu", "backends/src/reference", "backends/src/plugin", "backends/opencl"]
    return layers + parts + ["examples", "tools", "bench"]


def stretches(lines):
    """(first, last) of consecutive code lines that did not run, the longest first."""
    found = [[number for number, _ in group] for ran, group in
             itertools.groupby(sorted(lines.items()), key=lambda line: line[1]) if not ran]
    return sorted(((g[0], g[-1]) for g in found), key=lambda s: s[0] - s[1])


def read_lines(path):
    """For every file, whether each line of code ran."""
    files = {}
    for file in json.loads(path.read_text())["files"]:
        lines = collections.defaultdict(bool)
        for line in file["lines"]:
            if not line.get("gcovr/noncode"):
                lines[line["line_number"]] |= line["count"] > 0
        if lines:
            files[file["file"]] = lines
    return files


def row(name, lines):
    ran = sum(lines)
    return f"{100 * ran / len(lines):6.1f} %  {ran:6} of {len(lines):6}  {name}"


def print_rooms(files):
    print("Line coverage by folder:")
    order = folders()
    by_folder = {folder: [] for folder in order + ["other"]}
    for name, lines in files.items():
        inside = [folder for folder in order if name.startswith(folder + "/")]
        by_folder[max(inside, key=len, default="other")] += lines.values()
    for folder, lines in by_folder.items():
        if lines:
            print(row(folder, lines))


def print_gaps(files):
    print(f"\nFiles below {100 * WANTED:.0f} %, with the longest stretches that did not run:")
    for name, lines in sorted(files.items()):
        if sum(lines.values()) < WANTED * len(lines):
            longest = ", ".join(f"{a}-{b}" if a < b else str(a) for a, b in stretches(lines)[:3])
            print(f"{row(name, lines.values())}: {longest}")


def print_kernels(path):
    """By instruction set, whether each test of kernels ran on this machine."""
    ran = collections.defaultdict(list)
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        found = re.fullmatch(r"cpu kernels \w+ (\w+)", case.get("name"))
        if found:
            ran[found[1]].append(case.get("status") == "run")
    for isa, cases in ran.items():
        print(f"kernels of {isa}: {'all rows ran' if all(cases) else 'did not run on this machine'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lines", type=pathlib.Path, help="the output of gcovr --json")
    parser.add_argument("tests", type=pathlib.Path, help="the output of ctest --output-junit")
    options = parser.parse_args()
    files = read_lines(options.lines)
    if not files:
        sys.exit("no lines: was anything built and run?")
    print_rooms(files)
    print_gaps(files)
    print()
    print_kernels(options.tests)


if __name__ == "__main__":
    main()
