"""What several tests of the package share."""

import sys

try:
    import numpy  # noqa: F401 - the package needs it
except ImportError:
    print("numpy is not installed")
    sys.exit(77)

import weft
from weft.llama_cpp import Llama

STORY = "Once upon a time"


def llama(**arguments):
    return Llama(weft.bundled_model(), **{"n_ctx": 256, "seed": 1, "verbose": False, **arguments})
