"""Builds the package for pip (PEP 517, PEP 660), with nothing but Python's own library.

What a wheel holds: docs/python.md. Environment: WEFT_BUILD_DIR names a build tree that is built
already, CMAKE_ARGS adds arguments of CMake. Settings (pip's -C): `platform`, the kind of machine of a
wheel from WEFT_BUILD_DIR; `licenses`, a folder with more of them.
"""

import os
import pathlib
import tempfile

import build_tree
import libraries
import metadata
from archive import Wheel, write_sdist

ROOT = build_tree.ROOT


def get_requires_for_build_wheel(config_settings=None):
    return []


get_requires_for_build_sdist = get_requires_for_build_editable = get_requires_for_build_wheel


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    folder = pathlib.Path(metadata_directory, metadata.DIST_INFO)
    folder.mkdir()
    for name, text in metadata.files().items():
        (folder / name).write_text(text, encoding="utf-8")
    return metadata.DIST_INFO


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    settings = config_settings or {}
    if "platform" in settings:
        metadata.set_platform(settings["platform"])
    with tempfile.TemporaryDirectory(prefix="weft-wheel-") as scratch:
        tree = build_tree.built(scratch)
        stage = pathlib.Path(scratch, "stage")
        build_tree.install(tree, stage)
        with Wheel(wheel_directory) as wheel:
            for path in sorted(p for p in stage.rglob("*") if p.is_file() and not p.is_symlink()):
                wheel.add(path.relative_to(stage).as_posix(), path)
            licenses = libraries.bundle(stage / "weft", wheel, metadata.glibc())
            if "licenses" in settings:
                licenses |= {path.stem: path for path in sorted(pathlib.Path(settings["licenses"]).iterdir())}
            for package, path in licenses.items():
                wheel.add(f"{metadata.DIST_INFO}/licenses/{package}.txt", path)
            _add_metadata(wheel)
    return wheel.name


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """A wheel that points into the build tree: after a change, `cmake --build` is enough."""
    tree = build_tree.built(None)
    with Wheel(wheel_directory) as wheel:
        wheel.add_text("__editable__.weft.pth", f"{tree / 'python'}\n")
        _add_metadata(wheel)
    return wheel.name


def build_sdist(sdist_directory, config_settings=None):
    return write_sdist(ROOT, sdist_directory)


def _add_metadata(wheel):
    for name in metadata.LICENSES:
        wheel.add(f"{metadata.DIST_INFO}/licenses/{name}", ROOT / name)
    for name, text in metadata.files().items():
        wheel.add_text(f"{metadata.DIST_INFO}/{name}", text)
