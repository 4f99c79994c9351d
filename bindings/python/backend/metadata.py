"""The name, version, tag and description of the package."""

import pathlib
import re
import sysconfig

ROOT = pathlib.Path(__file__).resolve().parents[3]
LICENSES = ("LICENSE", "NOTICE")


def _version():
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"project\(weft VERSION ([0-9.]+)", text)[1]


VERSION = _version()
DIST_INFO = f"weft-{VERSION}.dist-info"


# The kind of machine of a wheel: this one, or what the setting `platform` says.
_platform = [re.sub("[-.]", "_", sysconfig.get_platform())]


def set_platform(name):
    """A name such as manylinux_2_31_x86_64, https://peps.python.org/pep-0600/."""
    if not re.fullmatch(r"(manylinux_[0-9]+_[0-9]+|linux)_[a-z0-9_]+", name):
        raise SystemExit(f"platform: expected linux_MACHINE or manylinux_X_Y_MACHINE, got '{name}'")
    _platform[0] = name


def glibc():
    """The C library that a manylinux wheel may need at most, as (2, 31); None for all that is here."""
    found = re.match(r"manylinux_([0-9]+)_([0-9]+)_", _platform[0])
    return (int(found[1]), int(found[2])) if found else None


def tag():
    """The tag of any Python 3 on this kind of machine, such as py3-none-linux_x86_64."""
    return f"py3-none-{_platform[0]}"


def description():
    lines = [
        "Metadata-Version: 2.1",
        "Name: weft",
        f"Version: {VERSION}",
        "Summary: Runs language models on CPUs and lets you inspect every step",
        "License: Apache-2.0",
        *(f"License-File: {name}" for name in LICENSES),
        "Classifier: License :: OSI Approved :: Apache Software License",
        "Classifier: Operating System :: POSIX :: Linux",
        "Classifier: Programming Language :: Python :: 3",
        "Classifier: Typing :: Typed",
        "Requires-Python: >=3.9",
        "Requires-Dist: numpy",
        "Description-Content-Type: text/markdown",
    ]
    readme = (ROOT / "bindings/python/README.md").read_text(encoding="utf-8")
    return "\n".join(lines) + "\n\n" + readme


def files():
    """The files of the folder DIST_INFO, but RECORD and licences."""
    return {
        "METADATA": description(),
        "WHEEL": f"Wheel-Version: 1.0\nGenerator: weft_build ({VERSION})\nRoot-Is-Purelib: false\n"
                 f"Tag: {tag()}\n",
        "entry_points.txt": "[console_scripts]\nweft = weft.__main__:main\n",
        "top_level.txt": "weft\n",
    }
