#!/usr/bin/env python3
"""Looks at every program and library that was built or installed: where it finds libraries, and how it
is protected.

  binaries_test.py FOLDER... [--hardened]

An element of a binary's path that is empty or relative stands for the current folder: a library that
lies there would be loaded, and its code would run. --hardened: the build is an optimized one without
sanitizers, so its programs have the protection of cmake/Hardening.cmake, too."""
import argparse
import pathlib
import re
import subprocess
import sys


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout


def is_binary(path):
    if path.is_symlink() or not path.is_file():
        return False
    with open(path, "rb") as file:
        head = file.read(18)
    return head[:4] == b"\x7fELF" and head[16] in (2, 3)  # a program or a shared library


def wrong_elements(path):
    """Elements of the paths of a dynamic section that depend on where the program is started."""
    for found in re.findall(r"\(R(?:UN)?PATH\).*\[(.*)\]", output("readelf", "-dW", path)):
        for element in found.split(":"):
            if not element.startswith(("/", "$ORIGIN/")) and element != "$ORIGIN":
                yield f"has {element!r} in its library path [{found}]"


def weaknesses(path):
    dynamic = output("readelf", "-dW", path)
    if "DYN" not in output("readelf", "-hW", path):
        yield "is not position independent"
    if not re.search(r"BIND_NOW|FLAGS.*\bNOW\b", dynamic):
        yield "resolves symbols late: its table of them stays writable"
    if "GNU_RELRO" not in output("readelf", "-lW", path):
        yield "has no read-only part after relocation"
    if re.search(r"GNU_STACK.*\bRWE\b", output("readelf", "-lW", path)):
        yield "has an executable stack"
    symbols = output("nm", "-D", path)
    if "__stack_chk_fail" not in symbols:
        yield "does not protect its stack"
    if "_chk@" not in symbols:
        yield "does not check copies (FORTIFY)"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    parser.add_argument("--hardened", action="store_true")
    options = parser.parse_args()
    binaries = [p for folder in options.folders for p in sorted(folder.rglob("*")) if is_binary(p)]
    if not binaries:
        sys.exit("there are no binaries in " + ", ".join(map(str, options.folders)))
    n_wrong = 0
    for path in binaries:
        wrong = list(wrong_elements(path))
        if options.hardened and (
                path.name in ("weft", "generate", "chat") or path.name.startswith("libweft.so")):
            wrong += weaknesses(path)
        n_wrong += len(wrong)
        for what in wrong:
            print(f"{path}: {what}")
    print(f"{len(binaries)} binaries, {n_wrong} problems")
    sys.exit(1 if n_wrong else 0)


if __name__ == "__main__":
    main()
