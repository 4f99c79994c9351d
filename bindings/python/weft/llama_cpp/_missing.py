"""What modules say of names of llama-cpp-python that Weft does not have."""

import dis
import sys
from types import ModuleType
from typing import Any, NoReturn, Optional

IMAGES = "images are not supported yet: only text can be part of messages"

# weft.llama_cpp, which registers itself when it is loaded.
_package: list[ModuleType] = []


def register_package(package: ModuleType) -> None:
    """Says whose names package_name() finds."""
    _package[:] = [package]


def package_name(name: str) -> Optional[Any]:
    """What the package has under a name; None if it has nothing."""
    return getattr(_package[0], name, None) if _package else None


def refuse_name(module: str, name: str, why: str) -> NoReturn:
    """Raises the error of a name that a module lacks, for its __getattr__(). `from module import
    name` would replace the message of an AttributeError, so it gets an ImportError."""
    message = f"{module} has no {name}: {why}"
    caller = sys._getframe(2)
    code, at = caller.f_code, caller.f_lasti
    is_import = code.co_name == "_handle_fromlist" or (
        0 <= at < len(code.co_code) and code.co_code[at] == dis.opmap["IMPORT_FROM"])
    if is_import and not name.startswith("__"):
        raise ImportError(message, name=module)
    raise AttributeError(message)
