"""Shared libraries that a wheel brings along: all but those of the compiler and the C library."""

import os
import pathlib
import re
import subprocess

# Part of every system that runs CPython and numpy, and bound to the loader.
OF_THE_SYSTEM = re.compile(
    r"(ld-linux.*|linux-vdso|lib(c|m|dl|rt|pthread|resolv|util|mvec|anl|stdc\+\+|gcc_s|atomic))\.so.*")
C_LIBRARY = re.compile(r"(ld-linux.*|lib(c|m|dl|rt|pthread))\.so\.[0-9]+")
NEEDED = re.compile(r"\(NEEDED\).*\[(.*)\]")
GLIBC = re.compile(r"Name: GLIBC_([0-9.]+)")
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


def is_elf(path):
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def check_portable(path, glibc, also=()):
    """Refuses a binary that needs more than a C library of this version and the libraries `also`, or
    looks for libraries in a folder of its own."""
    read = subprocess.run(["readelf", "-dVW", path], capture_output=True, text=True, check=True).stdout
    newest = max((tuple(map(int, version.split("."))) for version in GLIBC.findall(read)), default=(0,))
    if newest > glibc:
        raise SystemExit(f"{path.name} needs glibc {'.'.join(map(str, newest))}, which is newer than "
                         f"{'.'.join(map(str, glibc))}")
    foreign = {name for name in NEEDED.findall(read) if not C_LIBRARY.fullmatch(name)} - set(also)
    if foreign:
        raise SystemExit(f"{path.name} needs {', '.join(sorted(foreign))} of the machine that it runs on")
    if re.search(r"\((RPATH|RUNPATH)\)", read):
        raise SystemExit(f"{path.name} looks for libraries in a folder of its own")


def bundle(package, wheel, glibc):
    """Adds the libraries that the binaries of a folder need; the paths of licences by package. If the
    wheel is for other machines (metadata.glibc()), they may need none."""
    licenses = {}
    binaries = [p for p in package.rglob("*") if p.is_file() and is_elf(p)]
    if glibc:
        for binary in binaries:
            check_portable(binary, glibc)
        return licenses
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
