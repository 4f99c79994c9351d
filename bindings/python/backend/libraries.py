"""Shared libraries that a wheel brings along: all but those of the compiler and the C library."""

import os
import pathlib
import re
import subprocess

# Part of every system that runs CPython and numpy, and bound to the loader.
OF_THE_SYSTEM = re.compile(
    r"(ld-linux.*|linux-vdso|lib(c|m|dl|rt|pthread|resolv|util|mvec|anl|stdc\+\+|gcc_s|atomic))\.so.*")
FOUND = re.compile(r"^\s*(\S+) => (?:(\S+)|not found)", re.M)


def _needed(binary):
    """(name, path or None) of the libraries that a binary loads."""
    out = subprocess.run(["ldd", str(binary)], capture_output=True, text=True, check=True).stdout
    for name, path in FOUND.findall(out):
        if not OF_THE_SYSTEM.fullmatch(os.path.basename(name)):
            yield name, path if path.startswith("/") else None


def _package(path):
    """Debian's package of a file, or None if no package owns it."""
    for name in (path, path.removeprefix("/usr"), os.path.realpath(path)):
        try:
            asked = subprocess.run(["dpkg-query", "--search", name], capture_output=True, text=True)
        except FileNotFoundError:
            return None
        if asked.returncode == 0:
            return asked.stdout.split(":")[0]
    return None


def bundle(package, wheel):
    """Adds the libraries that the binaries of a folder need; the paths of licences by package."""
    licenses = {}
    binaries = [p for p in package.rglob("*") if p.is_file() and p.read_bytes()[:4] == b"\x7fELF"]
    needed = {name: path for binary in binaries for name, path in _needed(binary)}
    for name, path in sorted(needed.items()):
        if path is None:
            raise SystemExit(f"{name}, which the build was linked with, is not found any more")
        if f"weft/lib/{name}" in wheel.names:
            continue
        wheel.add(f"weft/lib/{name}", pathlib.Path(path))
        owner = _package(path)
        text = pathlib.Path("/usr/share/doc", owner or "?", "copyright")
        if text.is_file():
            licenses[owner] = text
    return dict(sorted(licenses.items()))
