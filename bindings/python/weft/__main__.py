"""python -m weft chat|generate|serve|...: the programs that come with the package."""

import os
import pathlib
import shutil
import sys
from typing import NoReturn, Optional

from ._model import bundled_model

# Programs of their own; all else is a subcommand of `weft`.
_PROGRAMS = ("chat", "generate")


def _program(name: str) -> Optional[pathlib.Path]:
    """A program of the package, of the build tree that the package is in, or of the system. In a
    wheel, weft is all programs, and goes by the name that it is called by."""
    package = pathlib.Path(__file__).resolve().parent
    for folder in (package / "bin", package.parent.parent / "bin"):
        for found in (folder / name, folder / "weft"):
            if os.access(found, os.X_OK):
                return found
    if (package / "lib").exists():
        return None
    found_in_path = shutil.which(name)
    return pathlib.Path(found_in_path) if found_in_path else None


def main() -> NoReturn:
    """Replaces this process by the program that the first argument names."""
    arguments = sys.argv[1:] or ["--help"]
    name = "weft"
    if arguments[0] in _PROGRAMS:
        name, *arguments = arguments
    path = _program(name)
    if path is None:
        print(f"weft: the program {name} is not part of this installation: install the package weft of "
              "your distribution, or build with WEFT_BUILD_PROGRAMS=ON", file=sys.stderr)
        sys.exit(2)
    if not os.environ.get("WEFT_MODEL"):
        os.environ["WEFT_MODEL"] = str(bundled_model())
    sys.stdout.flush()
    os.execv(path, [name, *arguments])


if __name__ == "__main__":
    main()
