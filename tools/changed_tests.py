#!/usr/bin/env python3
"""Prints the checks for a change: on the first line the targets to build, on the second a pattern
for `ctest -R`, which matches nothing if no test is near the change.

The tests of a change are those next to it: the test programs of the folder of each changed source,
those that included a changed header when they were built last, and tests that are changed scripts
themselves. All other programs that link a changed library are left to `tools/test.sh --quick`.

Examples:
  tools/changed_tests.py build/quick
  tools/changed_tests.py build/quick --since HEAD~3
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def output(*command, cwd=ROOT):
    return subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True).stdout


def changed_files(since):
    base = output("git", "merge-base", since, "HEAD").strip()
    names = output("git", "diff", "--name-only", base).splitlines()
    names += output("git", "ls-files", "-o", "--exclude-standard").splitlines()
    return set(names)


def sources_of_tests(folder):
    """The sources of each test program, by the name of its target."""
    sources = {}
    for entry in json.loads((folder / "compile_commands.json").read_text()):
        target = re.search(r"/(\w+_test)\.dir/", entry["command"])
        if target:
            sources.setdefault(target[1], set()).update(listed_sources(entry["file"]))
    return sources


def listed_sources(file):
    """The sources that a source of the build stands for: itself, or those of a batch."""
    names = [file]
    if "/Unity/" in file:
        names = re.findall(r'#include "(.*)"', pathlib.Path(file).read_text())
    return {os.path.relpath(name, ROOT) for name in names}


def headers_of_tests(folder):
    """The headers of this project that each test program included when it was built last, by ninja's
    record."""
    headers, target = {}, None
    for line in output("ninja", "-t", "deps", cwd=folder).splitlines():
        if line and not line.startswith(" "):
            found = re.search(r"/(\w+_test)\.dir/", line)
            target = found[1] if found else None
        elif line and target:
            headers.setdefault(target, set()).add(
                os.path.relpath(os.path.normpath(folder / line.strip()), ROOT))
    return headers


def folder_of(name):
    """The folder of a library: that of its CMakeLists.txt."""
    folder = pathlib.Path(name).parent
    while folder != pathlib.Path(".") and not (ROOT / folder / "CMakeLists.txt").is_file():
        folder = folder.parent
    return folder


def near(changed, sources, headers):
    """The test programs that are next to a changed file."""
    code = {name for name in changed if name.endswith((".cpp", ".h"))}
    folders = {folder_of(name) for name in code}
    folders |= {folder_of(name) for name in changed if name.endswith("CMakeLists.txt")}
    return {target for target, names in sources.items()
            if folders & {folder_of(name) for name in names if name.endswith("_test.cpp")}
            or code & headers.get(target, set())}


def uses(script, changed):
    """Whether a test's script is among the changed files, or its data (X.json of X_test.py), or what
    the scripts of its folder share."""
    path = pathlib.Path(os.path.relpath(script, ROOT))
    data = path.with_name(path.name.replace("_test.py", ".json"))
    shared = {name for name in changed if name.endswith(".py") and not name.endswith("_test.py")
              and pathlib.Path(name).parent == path.parent}
    return bool({str(path), str(data)} & changed or shared)


def scripts(folder, changed):
    """Names of tests whose script, or what it reads, changed."""
    tests = json.loads(output("ctest", "--show-only=json-v1", cwd=folder))["tests"]
    return {test["name"] for test in tests
            if any(word.endswith(".py") and uses(word, changed) for word in test.get("command", []))}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="build folder, configured")
    parser.add_argument("--since", default="main", metavar="COMMIT",
                        help="compare with the last common commit with this one (default: main)")
    options = parser.parse_args()
    folder = options.folder.resolve()
    changed = changed_files(options.since)
    programs = sorted(near(changed, sources_of_tests(folder), headers_of_tests(folder)))
    named = sorted(scripts(folder, changed))
    targets = [*programs, *(["weft", "generate", "chat"] if named else [])]
    patterns = [f"{name}:" for name in programs] + [f"{re.escape(name)}$" for name in named]
    if "cpu_kernels_test" in programs:
        patterns.append("cpu kernels ")
    print(" ".join(targets))
    print(f"^({'|'.join(patterns)})" if patterns else "")
    print(f"{len(changed)} files changed since {options.since}: {len(programs)} test programs, "
          f"{len(named)} scripts", file=sys.stderr)


if __name__ == "__main__":
    main()
