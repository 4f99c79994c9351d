"""Says what to run instead."""

import sys

from . import INSTEAD

sys.exit(f"weft.llama_cpp.server: {INSTEAD}")
