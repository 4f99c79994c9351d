"""The ops of graphs, by the names of weft/ops: weft.ops.silu(x), weft.ops.rms_norm(x, w, eps=1e-5).

Functions take tensors and give one. Inputs come in order, and optional ones may be left out;
attributes follow, in order or by name. Values of enumerations are text. Ops that
weft.register_op() made are here, too. dir(weft.ops) lists all.
"""

# This module has no other names, which ops of the same name could not have.
from ._ops import find_op as __getattr__
from ._ops import names as __dir__

__all__ = ["__dir__", "__getattr__"]
