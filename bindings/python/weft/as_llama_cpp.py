"""Makes `import llama_cpp` mean weft.llama_cpp, for programs that are written for llama-cpp-python:

    import weft.as_llama_cpp            # before the first import of llama_cpp

or, without a change to the program:

    python -m weft.as_llama_cpp program.py --its-options
    python -m weft.as_llama_cpp -m its_module --its-options
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import os
import pathlib
import re
import runpy
import sys
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any, Optional

_NAME = "llama_cpp"
_PACKAGE = "llama-cpp-python"
_INTERFACE = "0.3.35"  # the version of that package whose names weft.llama_cpp has


class _Alias(importlib.abc.Loader):
    """Gives a module of weft.llama_cpp under its name in llama_cpp."""

    def __init__(self, name: str) -> None:
        self._module = importlib.import_module(f"weft.{name}")
        self._spec = self._module.__spec__

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has put the spec of the other name there. Relative imports need this.
        module.__spec__ = self._spec


class _Distribution(importlib.metadata.Distribution):
    """What importlib.metadata says of llama-cpp-python, for programs that ask for its version."""

    def read_text(self, filename: str) -> Optional[str]:
        if filename != "METADATA":
            return None
        return (f"Metadata-Version: 2.1\nName: {_PACKAGE}\nVersion: {_INTERFACE}\n"
                "Summary: weft.llama_cpp, which has the interface of this version\n")

    def locate_file(self, path: Any) -> pathlib.Path:
        return pathlib.Path(__file__).parent.joinpath(path)


class _Finder(importlib.metadata.DistributionFinder):
    """Finds the modules of llama_cpp, and its version."""

    def find_spec(self, fullname: str, path: Optional[Sequence[Any]],
                  target: Optional[ModuleType] = None
                  ) -> Optional[importlib.machinery.ModuleSpec]:
        if fullname.partition(".")[0] != _NAME:
            return None
        parent = sys.modules.get(fullname.rpartition(".")[0])
        if parent is not None and parent.__name__.partition(".")[0] != "weft":
            return None  # a package that a program has put there itself
        if importlib.util.find_spec(f"weft.{fullname}") is None:
            return None
        found = importlib.machinery.ModuleSpec(fullname, _Alias(fullname))
        return found

    def find_distributions(self, context: Any = importlib.metadata.DistributionFinder.Context()
                           ) -> Iterator[importlib.metadata.Distribution]:
        name = context.name
        if name is None or re.sub("[-_.]+", "-", name).lower() == _PACKAGE:
            yield _Distribution()


def _install() -> None:
    """Puts the finder before all others, once."""
    present = sys.modules.get(_NAME)
    if present is not None and present.__name__ != f"weft.{_NAME}":
        raise ImportError(f"{_NAME} is already imported from {present.__file__}: import "
                          "weft.as_llama_cpp before it", name=__name__)
    if not any(type(finder).__name__ == "_Finder" and type(finder).__module__ in
               ("__main__", "weft.as_llama_cpp") for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def _main() -> None:
    """Runs the program that the arguments name."""
    arguments = sys.argv[1:]
    is_module = arguments[:1] == ["-m"]
    arguments = arguments[is_module:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        sys.exit(0 if arguments else 2)
    sys.argv = arguments
    if is_module:
        sys.path[0] = ""
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
        runpy.run_path(arguments[0], run_name="__main__")


_install()

if __name__ == "__main__":
    _main()
