#!/usr/bin/env python3
"""Prints the line coverage of each folder from gcovr's JSON, and the files with low coverage, with
their longest stretches of lines that did not run. Fails if a folder is below its floor: 90 % outside
of programs, or what tools/coverage_floors.txt says.

Examples:
  tools/coverage_report.py build/coverage/lines.json build/coverage/tests.xml
  tools/coverage_report.py LINES TESTS --page tests/README.md   # also writes the table there
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
FLOORS = ROOT / "tools/coverage_floors.txt"
PROGRAMS = ("examples", "tools", "bench", "other")  # folders that have no floor
BEGIN, END = "<!-- coverage: begin -->\n", "<!-- coverage: end -->"


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


def row(name, ran, total):
    return f"{100 * ran / total:6.1f} %  {ran:6} of {total:6}  {name}"


def rooms(files):
    """(folder, lines that ran, lines of code) of each folder that has any."""
    order = folders()
    by_folder = {folder: [] for folder in order + ["other"]}
    for name, lines in files.items():
        inside = [folder for folder in order if name.startswith(folder + "/")]
        by_folder[max(inside, key=len, default="other")] += lines.values()
    return [(folder, sum(lines), len(lines)) for folder, lines in by_folder.items() if lines]


def floors(text):
    """The lines "FOLDER PERCENT  # REASON" of the list: {folder: percent}."""
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = re.fullmatch(r"(\S+) (\d+(?:\.\d)?)  # (\S.*)", line)
        if not match:
            raise ValueError(f"line {number}: expected 'FOLDER PERCENT  # REASON', got '{line}'")
        found[match[1]] = float(match[2])
    return found


def below_floor(measured, lower):
    """What is wrong with the folders, and with the list of lower floors."""
    problems = []
    for folder, ran, total in measured:
        percent = 100 * ran / total
        floor = lower.get(folder, 100 * WANTED)
        if folder in PROGRAMS and folder not in lower:
            continue
        if percent < floor:
            problems.append(f"{folder}: {percent:.1f} % of its lines ran, at least {floor:g} % must")
        elif folder in lower and percent >= 100 * WANTED:
            problems.append(f"{folder}: has {percent:.1f} %, so it needs no lower floor")
    names = {folder for folder, _, _ in measured}
    return problems + [f"{folder}: no such folder" for folder in lower if folder not in names]


def page_table(measured, lower):
    rows = ["\n| folder | lines that ran | of | share | floor |\n|---|---|---|---|---|\n"]
    for folder, ran, total in measured:
        none = folder in PROGRAMS and folder not in lower
        floor = "" if none else f"{lower.get(folder, 100 * WANTED):g} %"
        rows.append(f"| `{folder}` | {ran} | {total} | {100 * ran / total:.1f} % | {floor} |\n")
    return "".join(rows) + "\n"


def write_page(page, measured, lower):
    text = page.read_text()
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    page.write_text(text[:begin] + page_table(measured, lower) + text[end:])


def print_gaps(files):
    print(f"\nFiles below {100 * WANTED:.0f} %, with the longest stretches that did not run:")
    for name, lines in sorted(files.items()):
        if sum(lines.values()) < WANTED * len(lines):
            longest = ", ".join(f"{a}-{b}" if a < b else str(a) for a, b in stretches(lines)[:3])
            print(f"{row(name, sum(lines.values()), len(lines))}: {longest}")


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
    parser.add_argument("--page", type=pathlib.Path, help="the page whose table is written")
    options = parser.parse_args()
    files = read_lines(options.lines)
    if not files:
        sys.exit("no lines: was anything built and run?")
    measured, lower = rooms(files), floors(FLOORS.read_text())
    print("Line coverage by folder:")
    for folder, ran, total in measured:
        print(row(folder, ran, total))
    print_gaps(files)
    print()
    print_kernels(options.tests)
    if options.page:
        write_page(options.page, measured, lower)
    if problems := below_floor(measured, lower):
        sys.exit("\n".join(["", *problems]))


if __name__ == "__main__":
    main()
