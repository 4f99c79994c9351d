#!/usr/bin/env python3
"""Prints the numbers of the tests that a change affects, separated by commas, for `ctest -I`.

A test is affected if a changed file is compiled into one of the programs that it runs, or is the
test's own script. Tests of whole programs are affected if any program is. The build folder must be up
to date, because ninja's record of headers is read from there.

Examples:
  tools/changed_tests.py build/release
  tools/changed_tests.py build/release --since HEAD~3
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def output(*command, cwd=ROOT):
    return subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True).stdout


def changed_files(since):
    base = output("git", "merge-base", since, "HEAD").strip()
    names = output("git", "diff", "--name-only", base).splitlines()
    names += output("git", "ls-files", "-o", "--exclude-standard").splitlines()
    return {str(ROOT / name) for name in names}


def changed_objects(folder, changed):
    """Objects that include a changed file, by ninja's record."""
    objects, current = set(), None
    for line in output("ninja", "-t", "deps", cwd=folder).splitlines():
        if line and not line.startswith(" "):
            current = line.split(":")[0]
        elif line and os.path.normpath(folder / line.strip()) in changed:
            objects.add(current)
    return objects


def is_concerned(test, folder, changed, objects, inputs_of):
    """Whether the command line names a changed file, or a program with a changed object."""
    programs = []
    for word in test["command"]:
        if word in changed:
            return True
        path = pathlib.Path(word)
        if path.is_relative_to(folder) and path.is_file():
            programs.append(word)
    environment = next((p["value"] for p in test["properties"] if p["name"] == "ENVIRONMENT"), [])
    if any(value.startswith("WEFT_BIN=") for value in environment) or not programs:
        programs += [str(folder / "bin" / name) for name in ("weft", "generate", "chat")]
    return any(not objects.isdisjoint(inputs_of(program)) for program in programs)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="build folder")
    parser.add_argument("--since", default="main", metavar="COMMIT",
                        help="compare with the last common commit with this one (default: main)")
    options = parser.parse_args()
    folder = options.folder.resolve()
    changed = changed_files(options.since)
    objects = changed_objects(folder, changed)
    known = {}

    def inputs_of(program):
        if program not in known:
            target = os.path.relpath(program, folder)
            query = subprocess.run(["ninja", "-t", "inputs", target], cwd=folder, check=False,
                                   capture_output=True, text=True)
            known[program] = set(query.stdout.splitlines())
        return known[program]

    tests = json.loads(output("ctest", "--show-only=json-v1", cwd=folder))["tests"]
    numbers = [number for number, test in enumerate(tests, 1)
               if "command" in test and is_concerned(test, folder, changed, objects, inputs_of)]
    print(",".join(map(str, numbers)))
    print(f"{len(changed)} files changed since {options.since}: "
          f"{len(objects)} objects, {len(numbers)} of {len(tests)} tests", file=sys.stderr)


if __name__ == "__main__":
    main()
