"""The constants, and the functions of llama.h that programs call on parts of a Llama."""

from typing import NoReturn

from ._constants import *  # noqa: F401,F403
from ._low_level import *  # noqa: F401,F403
from ._missing import refuse_name

NO_STRUCTS = ("C structs are not part of weft.llama_cpp; use weft.Session, or the C API of libweft "
              "(weft/weft.h)")


def __getattr__(name: str) -> NoReturn:
    refuse_name(__name__, name, NO_STRUCTS)
