"""The files that packages are made of, as `cmake --install` puts them."""

import functools
import pathlib
import shutil
import subprocess

# cmake/Install.cmake says what they are.
COMPONENTS = ("programs", "plugins", "library", "c_headers")


def install(build, folder, components=COMPONENTS):
    """Installs components of a build tree into a folder, without symbols; what was there is removed."""
    shutil.rmtree(folder, ignore_errors=True)
    for component in components:
        installed = subprocess.run(
            ["cmake", "--install", build, "--prefix", folder, "--component", component, "--strip"],
            capture_output=True, text=True)
        if installed.returncode != 0:
            raise SystemExit(f"package: {build} cannot be installed:\n{installed.stdout}{installed.stderr}")
    return pathlib.Path(folder)


@functools.cache
def packaged(build):
    """The folder with all that packages hold, installed once."""
    return install(build, build / "stage")
