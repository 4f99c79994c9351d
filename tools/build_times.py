#!/usr/bin/env python3
"""Where the time of builds and tests goes: the sums of the seconds that commands took.

For each object the last build counts, for each test the last run. Commands run in parallel, so the
sums exceed the elapsed time. Objects from ccache take almost no time.

Examples:
  tools/build_times.py
  tools/build_times.py build/release build/dev --slowest 20
  tools/build_times.py build/release --save before.json
  tools/build_times.py build/release --against before.json    # parts that became slower or faster
"""
import argparse
import collections
import json
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The kind of an object by its name; the first pattern that matches counts.
KINDS = [
    (r"/headers/\w+\.cpp\.o$", "headers alone"),
    (r"/kernels/[\w.]+\.cpp\.o$", "kernels"),
    (r"_(test|fuzz|replay)\.dir/|/weft_test_main\.dir/|/weft_eval\.dir/", "tests"),
    (r"^(models/(?:text/)?\w+|\w+)/.*\.o$", r"\1"),
    (r"\.(a|so)$|^bin/", "archives and links"),
]


def kind_of(output):
    for pattern, kind in KINDS:
        found = re.search(pattern, output)
        if found:
            return found.expand(kind)
    return "other"


def commands(folder):
    """Seconds of every command in ninja's log, by its first output."""
    log = folder / ".ninja_log"
    query = subprocess.run(["ninja", "-t", "targets", "all"], cwd=folder, check=False,
                           capture_output=True, text=True)
    known = {line.rpartition(": ")[0] for line in query.stdout.splitlines()}
    last = {}
    for line in log.read_text().splitlines() if log.exists() else []:
        if line.startswith("#"):
            continue
        start, end, _, output, command = line.split("\t")
        if output in known:  # other outputs do not exist any more
            last[output] = (int(start), int(end), command)
    outputs = {}  # a command with several outputs has one line for each
    for output, run in last.items():
        outputs.setdefault(run, output)
    return {output: (run[1] - run[0]) / 1000 for run, output in outputs.items()}


def tests(folder):
    """Seconds of every test, by its name."""
    costs = folder / "Testing/Temporary/CTestCostData.txt"
    seconds = {}
    for line in costs.read_text().splitlines() if costs.exists() else []:
        if line == "---":  # the names of failed tests follow
            break
        name, _, cost = line.rsplit(" ", 2)
        seconds[name] = float(cost)
    return seconds


def group_of(test):
    """The program of a test, or the name of its kind."""
    return re.sub(r"^(cpu kernels).*", r"\1", test.split(":")[0])


def print_table(title, seconds, kind, slowest):
    sums = collections.Counter()
    counts = collections.Counter()
    for name, value in seconds.items():
        sums[kind(name)] += value
        counts[kind(name)] += 1
    print(f"{title}: {sum(sums.values()):.0f} s")
    for name, value in sums.most_common():
        print(f"  {value:7.1f} s {counts[name]:5}  {name}")
    for name, value in sorted(seconds.items(), key=lambda item: -item[1])[:slowest]:
        print(f"  {value:7.1f} s         {name}")


def print_changes(title, before, after, kind):
    """Sums by kind, before and after, and each command that takes more than a second longer."""
    sums = collections.defaultdict(lambda: [0.0, 0.0])
    for index, seconds in enumerate((before, after)):
        for name, value in seconds.items():
            sums[kind(name)][index] += value
    print(f"{title}: {sum(before.values()):.0f} s before, {sum(after.values()):.0f} s now")
    for name, (old, new) in sorted(sums.items(), key=lambda item: item[1][0] - item[1][1]):
        print(f"  {old:7.1f} s {new:7.1f} s  {name}")
    grown = {name: value - before.get(name, 0) for name, value in after.items()}
    for name, more in sorted(grown.items(), key=lambda item: -item[1]):
        if more > 1:
            new = "" if name in before else " (new)"
            print(f"  {more:+16.1f} s  {name}{new}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=pathlib.Path, metavar="FOLDER",
                        help="build folders (default: all in build/)")
    parser.add_argument("--slowest", type=int, default=5, metavar="N",
                        help="name the N slowest commands and tests (default: 5)")
    parser.add_argument("--save", type=pathlib.Path, metavar="FILE", help="also write the times")
    parser.add_argument("--against", type=pathlib.Path, metavar="FILE",
                        help="compare with times that --save wrote")
    options = parser.parse_args()
    before = json.loads(options.against.read_text()) if options.against else {}
    now = {}
    for folder in options.folders or sorted((ROOT / "build").glob("*/")):
        for title, seconds, kind in [
                ("commands of the build", commands(folder), kind_of),
                ("tests", tests(folder), group_of)]:
            name = f"{folder.name}, {title}"
            now[name] = seconds
            if options.against:
                print_changes(name, before.get(name, {}), seconds, kind)
            elif seconds:
                print_table(name, seconds, kind, options.slowest)
    if options.save:
        options.save.write_text(json.dumps(now, indent=1) + "\n")


if __name__ == "__main__":
    main()
