"""What the package calls of the library; _weft.pyi has the types, and describes it."""

from ._native.module import NAMES as _NAMES

globals().update(_NAMES)
