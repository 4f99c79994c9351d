#!/usr/bin/env python3
"""Makes packages from a tree that is built (tools/package.sh), and the list of their hashes."""

import argparse
import hashlib
import os
import pathlib
import subprocess

import deb
import image
import recipes
import tarball
import wheel

KINDS = {"archive": tarball.make, "deb": deb.make, "wheel": wheel.make, "image": image.make,
         "source": wheel.make_source, "recipes": recipes.make}


def write_hashes(out, made):
    """SHA256SUMS of the folder: other files that it lists stay listed while they are there."""
    path = out / "SHA256SUMS"
    names = {name for name in out.iterdir() if name.suffix in (".zst", ".deb", ".whl", ".tar", ".gz")}
    names |= set(made)
    path.write_text("".join(f"{hashlib.sha256(name.read_bytes()).hexdigest()}  {name.name}\n"
                            for name in sorted(names)))
    key = os.environ.get("WEFT_SIGNING_KEY")
    if key:
        subprocess.run(["gpg", "--batch", "--yes", "--local-user", key, "--armor", "--detach-sign", path], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--build", "--sysroot", "--out"):
        parser.add_argument(name, type=pathlib.Path, required=True)
    parser.add_argument("--architecture", required=True)
    parser.add_argument("kinds", nargs="+", choices=KINDS)
    given = parser.parse_args()
    made = []
    for kind in dict.fromkeys(given.kinds):
        for path in KINDS[kind](given.build.resolve(), given.sysroot.resolve(), given.architecture,
                                given.out.resolve()):
            print(f"{path}: {path.stat().st_size / (1 << 20):.1f} MiB", flush=True)
            made.append(path)
    write_hashes(given.out, made)


if __name__ == "__main__":
    main()
