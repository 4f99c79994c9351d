"""Part of the server of llama-cpp-python, which Weft does not have."""

from . import INSTEAD

raise ImportError(f"{__name__}: {INSTEAD}", name=__name__)
