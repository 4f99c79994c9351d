#!/usr/bin/env python3
"""Compiles each source and each public header alone, without precompiled headers and batches, to
find missing includes; with --tidy, runs clang-tidy instead (.clang-tidy).

Uses clang-16, and build/lone for its settings. Generates no code.

Examples:
  tools/checks/lone_sources.py                    # every source
  tools/checks/lone_sources.py --since main       # those that changed
  tools/checks/lone_sources.py --tidy graph/src/graph.cpp
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from changed_tests import changed_files  # noqa: E402

BUILD = ROOT / "build/lone"


def configure():
    """Writes the commands that compile sources, and sources that are generated."""
    settings = ["-DCMAKE_CXX_COMPILER=clang++-16", "-DWEFT_UNITY=OFF", "-DWEFT_PRECOMPILE=OFF",
                "-DWEFT_ISAS=native", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
    done = subprocess.run(["cmake", "-G", "Ninja", "-S", str(ROOT), "-B", str(BUILD), *settings],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)


def commands():
    """The command line of each source, by its path. Kernels are left out: CMake generates their
    sources, one for each instruction set."""
    entries = json.loads((BUILD / "compile_commands.json").read_text())
    return {entry["file"]: shlex.split(entry["command"]) for entry in entries
            if not entry["file"].startswith(f"{BUILD}/backends/kernels/")
            and pathlib.Path(entry["file"]).exists()}


def changed_sources(since, known):
    """The sources that changed, and those that compile a changed public header alone."""
    names = changed_files(since)
    headers = [name.split("/include/")[1] for name in names
               if "/include/" in name and name.endswith(".h")]
    alone = tuple(f"/headers/{re.sub('[^0-9A-Za-z]', '_', header)}.cpp" for header in headers)
    return {source for source in known
            if os.path.relpath(source, ROOT) in names or source.endswith(alone or ("\0",))}


def syntax(command):
    """The same command, without its outputs and without the launcher of the compiler."""
    launchers = [i for i, word in enumerate(command) if os.path.basename(word) == "ccache"]
    words = command[launchers[0] + 1 if launchers else 0:]
    kept = [word for i, word in enumerate(words)
            if word not in ("-o", "-MF", "-MT", "-MD") and words[i - 1] not in ("-o", "-MF", "-MT")]
    return [*kept, "-fsyntax-only"]


def run(command):
    done = subprocess.run(command, cwd=BUILD, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    lines = (line for line in done.stdout.splitlines() if not line.endswith("warnings generated."))
    return done.returncode, "\n".join(lines)


def tidy(source):
    return ["clang-tidy-16", "--quiet", "-p", str(BUILD), source]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*", help="these sources (default: all)")
    parser.add_argument("--since", metavar="COMMIT", help="sources that changed since this commit")
    parser.add_argument("--tidy", action="store_true", help="run clang-tidy")
    options = parser.parse_args()
    configure()
    known = commands()
    chosen = {str(pathlib.Path(source).resolve()) for source in options.sources} & set(known)
    if options.since:
        chosen |= changed_sources(options.since, known)
    if not (options.sources or options.since):
        chosen = set(known)
    if options.sources and not chosen:
        sys.exit("none of these is a source of the build")
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        lines = [tidy(source) if options.tidy else syntax(known[source])
                 for source in sorted(chosen)]
        for source, (status, output) in zip(sorted(chosen), pool.map(run, lines)):
            if status != 0:
                failed += 1
                print(f"{os.path.relpath(source, ROOT)}:\n{output}", flush=True)
    print(f"{len(chosen)} sources, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
