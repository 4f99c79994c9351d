"""The Python package as a wheel that serves all versions of CPython: bindings/python/backend makes it."""

import os

import archive
import reproducible
import weft_build

LARGEST = 30 << 20  # bytes


def make(build, sysroot, architecture, out):
    """Writes the wheel into the folder `out`; its path in a list."""
    os.environ["WEFT_BUILD_DIR"] = str(build)
    name = weft_build.build_wheel(out, {"platform": f"manylinux_2_31_{architecture}", "licenses": sysroot / "licences"})
    path = out / name
    if path.stat().st_size > LARGEST:
        raise SystemExit(f"package: {name} has {path.stat().st_size} bytes, more than {LARGEST}")
    return [path]


def make_source(_build, _sysroot, _architecture, out):
    """weft-VERSION.tar.gz, of which pip builds wheels, too; its path in a list."""
    return [out / archive.write_sdist(reproducible.ROOT, out)]
