"""Images, which Weft does not read yet."""

from typing import NoReturn

from ._missing import IMAGES, refuse_name


def __getattr__(name: str) -> NoReturn:
    refuse_name(__name__, name, IMAGES)
