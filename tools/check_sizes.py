#!/usr/bin/env python3
"""Checks the limits of CONTRIBUTING.md: lines of files and functions, files of folders, methods of
classes, depth of includes.

  file      lines of a file, except those that a script makes: max 400
  folder    files of a folder, without data: max 40
  class     methods that the body of a class declares, without constructors and operators: max 25
  function  lines of a function: max 40
  includes  files in the longest chain of #include, which ends at public headers: max 6

Exceptions are listed in tools/sizes_allowed.txt with their size, the day until which they hold and
the reason. A size above the listed one fails, and so does a listed size that is not reached, a row
whose day has passed, and one that was raised without saying so (tools/allowed_sizes.py).

Examples:
  tools/check_sizes.py
  tools/check_sizes.py --all       # everything above the limits, listed or not
  tools/check_sizes.py --shrink    # shortens the list
"""
import argparse
import collections
import fnmatch
import functools
import json
import os
import re
import subprocess
import sys

import allowed_sizes
from allowed_sizes import ALLOWED, ROOT, git

LIMITS = {"file": 400, "folder": 40, "class": 25, "function": 40, "includes": 6}
SOURCES = ("*.cpp", "*.h", "*.c")
SCRIPTS = ("*.py", "*.sh", "*.cmake", "CMakeLists.txt")
# Headers that CMake makes, and the files that they include: those that do not include them.
GENERATED = {"cpu/simd/simd.inl.h": "backends/src/cpu/simd/*.inl.h"}
# The first line of a file that a script makes from data.
MADE = re.compile(rb"(/\*|//|#) Made by \S+\.py from ")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


def listed(*patterns):
    found = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z", *patterns],
                           cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return sorted(name for name in found.split("\0") if name and (ROOT / name).is_file())


def file_sizes():
    for name in listed(*SOURCES, *SCRIPTS):
        text = (ROOT / name).read_bytes()
        if not MADE.match(text):
            yield name, text.count(b"\n")


def folder_sizes():
    folders = collections.Counter(os.path.dirname(name) for name in listed()
                                  if not name.startswith("tests/fuzz/corpus/"))
    yield from folders.items()


@functools.lru_cache(None)
def tags():
    """Functions, declarations of functions, and classes, as ctags finds them."""
    command = ["ctags", "-L", "-", "-f", "-", "--languages=C,C++", "--langmap=C++:+.h",
               "--kinds-C=f", "--kinds-C++=fpcs", "--fields=+neKs", "--output-format=json"]
    found = subprocess.run(command, cwd=ROOT, input="\n".join(listed(*SOURCES)), check=True,
                           capture_output=True, text=True).stdout
    return [json.loads(line) for line in found.splitlines()]


def function_sizes():
    for tag in tags():
        if tag["kind"] == "function" and "end" in tag:
            yield f"{tag['path']}:{tag['name']}", tag["end"] - tag["line"] + 1


def class_sizes():
    bodies = collections.defaultdict(list)  # by file and qualified name
    for tag in tags():
        if tag["kind"] in ("class", "struct") and "end" in tag:
            name = f"{tag['scope']}::{tag['name']}" if "scope" in tag else tag["name"]
            bodies[tag["path"], name].append((tag["line"], tag["end"]))
    methods = collections.Counter()
    for tag in tags():
        body = (tag["path"], tag.get("scope"))
        constructor = str(tag.get("scope")).rpartition("::")[2]
        if (tag["kind"] in ("function", "prototype")
                and tag["name"] not in (constructor, f"~{constructor}")
                and not tag["name"].startswith("operator")
                and any(first <= tag["line"] <= last for first, last in bodies[body])):
            methods[body] += 1
    for (path, name), n in methods.items():
        yield f"{path}:{re.sub('__anon[0-9a-f]+::', '', name)}", n


def include_depths():
    sources = listed(*SOURCES)
    # All ends of paths, as an #include may spell them.
    ends = collections.defaultdict(list, {name: [name] for name in GENERATED})
    for name in sources:
        parts = name.split("/")
        for i in range(len(parts)):
            ends["/".join(parts[i:])].append(name)

    @functools.lru_cache(None)
    def depth(name):
        if "/include/weft/" in name:
            return 1
        if name in GENERATED:
            return 1 + max(depth(str(path.relative_to(ROOT)))
                           for path in ROOT.glob(GENERATED[name]) if name not in path.read_text())
        included = INCLUDE.findall((ROOT / name).read_text())
        nearest = [max(ends[i], key=lambda other: len(os.path.commonpath([name, other])))
                   for i in included if i in ends]
        return 1 + max((depth(other) for other in nearest if other != name), default=0)

    for name in sources:
        yield name, depth(name)


MEASURES = {"file": file_sizes, "folder": folder_sizes, "class": class_sizes,
            "function": function_sizes, "includes": include_depths}


def complaints(kind, sizes, rows, largest):
    """Lines about sizes above the limit or their row, and about rows that can shrink.

    Stores in `largest` the largest size that each row covers, 0 if it covers none.
    """
    largest.update({row: 0 for row in rows})
    for name, size in sizes:
        if size <= LIMITS[kind]:
            continue
        row = next((row for row in rows if fnmatch.fnmatchcase(name, row.pattern)), None)
        if row is None:
            yield f"{name}: {kind} of {size}, at most {LIMITS[kind]}"
        else:
            largest[row] = max(largest[row], size)
            if size > row.size:
                yield f"{name}: {kind} of {size}, at most {row.size} by {ALLOWED}"
    for row in rows:
        if largest[row] == 0:
            yield f"{row.place} is not needed any more: remove it"
        elif largest[row] < row.size:
            yield f"{row.place} can shrink from {row.size} to {largest[row]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="ignore the list")
    parser.add_argument("--shrink", action="store_true",
                        help="lower the sizes of the list, and remove unused rows")
    options = parser.parse_args()
    if git("rev-parse", "HEAD") is None:
        print("skipped: the files are listed by git, and this is not a checkout with a commit")
        return 0
    rows, lines = ([], []) if options.all else allowed_sizes.read(LIMITS)
    lines += allowed_sizes.complaints(rows)
    largest = {}
    for kind, measure in MEASURES.items():
        sizes = sorted(set(measure()), key=lambda item: (-item[1], item[0]))
        lines += complaints(kind, sizes, [row for row in rows if row.kind == kind], largest)
    if options.shrink:
        allowed_sizes.shrink(largest)
    print("\n".join(lines))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
