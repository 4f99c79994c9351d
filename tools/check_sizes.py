#!/usr/bin/env python3
"""Checks the limits of CONTRIBUTING.md: lines of files and functions, depth of includes.

  file      lines of a file: max 400
  function  lines of a function: max 40
  includes  files in the longest chain of #include, which ends at public headers: max 6

Exceptions are listed in tools/sizes_allowed.txt with their size and the reason. The list may only
shrink: a size above the listed one fails, and so does a listed size that is not reached.

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
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ALLOWED = pathlib.Path("tools/sizes_allowed.txt")
LIMITS = {"file": 400, "function": 40, "includes": 6}
SOURCES = ("*.cpp", "*.h", "*.c")
SCRIPTS = ("*.py", "*.sh", "*.cmake", "CMakeLists.txt")
# Headers that CMake makes, and the files that they include: those that do not include them.
GENERATED = {"cpu/simd/simd.inl.h": "backends/src/cpu/simd/*.inl.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


def listed(*patterns):
    found = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z", *patterns],
                           cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return sorted(name for name in found.split("\0") if name and (ROOT / name).is_file())


def file_sizes():
    for name in listed(*SOURCES, *SCRIPTS):
        yield name, (ROOT / name).read_bytes().count(b"\n")


def function_sizes():
    command = ["ctags", "-L", "-", "-f", "-", "--languages=C,C++", "--langmap=C++:+.h",
               "--kinds-C=f", "--kinds-C++=f", "--fields=+ne", "--output-format=json"]
    tags = subprocess.run(command, cwd=ROOT, input="\n".join(listed(*SOURCES)), check=True,
                          capture_output=True, text=True).stdout
    for line in tags.splitlines():
        tag = json.loads(line)
        if "end" in tag:
            yield f"{tag['path']}:{tag['name']}", tag["end"] - tag["line"] + 1


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


MEASURES = {"file": file_sizes, "function": function_sizes, "includes": include_depths}


def allowances():
    """Rows of the list: (kind, pattern of names, size, reason)."""
    for number, line in enumerate((ROOT / ALLOWED).read_text().splitlines(), 1):
        entry, _, reason = line.partition("#")
        fields = entry.split()
        if not fields:
            continue
        if len(fields) != 3 or fields[0] not in LIMITS or not reason.strip():
            sys.exit(f"{ALLOWED}:{number}: expected KIND NAME SIZE # REASON, got: {line}")
        yield fields[0], fields[1], int(fields[2]), reason.strip()


def complaints(kind, sizes, rows, largest):
    """Lines about sizes above the limit or their row, and about rows that can shrink.

    Stores in `largest` the largest size that each row covers, 0 if it covers none.
    """
    largest.update({row: 0 for row in rows})
    for name, size in sizes:
        if size <= LIMITS[kind]:
            continue
        row = next((row for row in rows if fnmatch.fnmatchcase(name, row[1])), None)
        if row is None:
            yield f"{name}: {kind} of {size}, at most {LIMITS[kind]}"
        else:
            largest[row] = max(largest[row], size)
            if size > row[2]:
                yield f"{name}: {kind} of {size}, at most {row[2]} by {ALLOWED}"
    for row in rows:
        (_, pattern, allowed, _), size = row, largest[row]
        if size == 0:
            yield f"{ALLOWED}: nothing needs the row '{kind} {pattern}' any more: remove it"
        elif size < allowed:
            yield f"{ALLOWED}: the row '{kind} {pattern}' can shrink from {allowed} to {size}"


def shrink(largest):
    """Lowers the sizes of the list, and removes unused rows."""
    sizes = {row[:3]: size for row, size in largest.items()}
    lines = []
    for line in (ROOT / ALLOWED).read_text().splitlines(keepends=True):
        fields = line.partition("#")[0].split()
        if fields:
            kind, pattern, allowed = fields
            size = min(sizes[kind, pattern, int(allowed)], int(allowed))
            line = line.replace(f" {allowed} ", f" {size} ", 1) if size else ""
        lines.append(line)
    (ROOT / ALLOWED).write_text("".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="ignore the list")
    parser.add_argument("--shrink", action="store_true",
                        help="lower the sizes of the list, and remove unused rows")
    options = parser.parse_args()
    rows = [] if options.all else list(allowances())
    lines, largest = [], {}
    for kind, measure in MEASURES.items():
        sizes = sorted(set(measure()), key=lambda item: (-item[1], item[0]))
        lines += complaints(kind, sizes, [row for row in rows if row[0] == kind], largest)
    if options.shrink:
        shrink(largest)
    print("\n".join(lines))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
