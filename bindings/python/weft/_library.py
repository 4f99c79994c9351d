"""What is loaded into the library: backends, and extensions with ops and architectures."""

import json
import os
from typing import Union

from . import _weft

Path = Union[str, "os.PathLike[str]"]


def load_backend(path: Path) -> None:
    """Loads a backend from a shared library, or from all of a folder that can be used."""
    _weft.load_backend(os.fsencode(path))


def load_extension(path: Path) -> None:
    """Loads ops and architectures from a shared library, as `--extension` does. They stay."""
    _weft.load_extension(os.fsencode(path))


def architectures() -> list[str]:
    """The names of all architectures: built in, registered and of extensions."""
    names: list[str] = json.loads(_weft.architectures_json())
    return names
