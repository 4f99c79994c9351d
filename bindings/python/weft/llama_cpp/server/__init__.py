"""The server of llama-cpp-python, in place of which Weft has its own."""

from typing import NoReturn

from .._missing import refuse_name

INSTEAD = "the server is a program: run `weft serve` (or `python -m weft serve`)"


def __getattr__(name: str) -> NoReturn:
    refuse_name(__name__, name, INSTEAD)
