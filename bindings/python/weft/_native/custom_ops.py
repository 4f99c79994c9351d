# mypy: ignore-errors
"""Ops that are defined by functions of numpy."""

from ctypes import c_char_p, c_void_p, cast, sizeof

from . import functions as api
from . import structs
from .callbacks import Callback
from .calls import finish, remember
from .constants import WEFT_ERROR_CALLBACK, WEFT_OP_REPLACES
from .errors import failed
from .graphs import array_of, dims_pairs
from .handles import function
from .values import c_text_of, dict_of, int32_of, int64_of, out_of

_MOST_DIMS = 4
_registered = []  # ops live as long as the process
_names = {}  # of types, which the library keeps


def _failing(message):
    """What a callback gives that raised."""
    return lambda *arguments: api.weft_error_make(WEFT_ERROR_CALLBACK, message, out_of(arguments[-1]))


def _inferring(infer):
    """infer([(dtype, shape)], attributes) gives (dtype, shape); shapes have a bound and a variable per
    dimension."""
    def call(_user, inputs, n, attributes, n_attributes, output, _error):
        specs = [(inputs[i].dtype.decode(), dims_pairs(inputs[i].dims, inputs[i].rank)) for i in range(n)]
        dtype, dims = infer(specs, dict_of(attributes, n_attributes))
        if len(dims) > _MOST_DIMS:
            raise failed("shape", "the output has more than 4 dimensions")
        output[0].dtype = _names.setdefault(dtype, dtype.encode())
        output[0].rank = len(dims)
        for d, (bound, variable) in enumerate(dims):
            output[0].dims[d] = structs.weft_dim(int64_of(bound, "a bound"), int32_of(variable, "a variable"))
        return 0
    return structs.weft_op_infer(Callback(call, _failing(b"the op raised an exception")))


class _Compute(Callback):
    """Runs on threads of the library."""

    def _run(self, *arguments):
        try:
            return self._function(*arguments)
        except BaseException as e:  # noqa: BLE001 - it is raised when the call has returned
            return _failing(remember(e).encode("utf-8", "replace"))(*arguments)


def _computing(compute):
    def call(_user, inputs, n, attributes, n_attributes, output, _error):
        arrays = [array_of(inputs[i]).copy() for i in range(n)]  # the function may keep them
        out = array_of(output[0])
        out[...] = compute(arrays, dict_of(attributes, n_attributes), out.shape, out.dtype)
        return 0
    return structs.weft_op_compute(_Compute(call, _failing(b"the op was interrupted")))


@function("register_op")
def register_op(name, inputs, infer, compute, sharding):
    texts = [c_text_of(one, "a name of an input") for one in inputs]
    names = (c_char_p * len(texts))(*texts)
    op = structs.weft_op()
    op.struct_size = sizeof(op)
    op.n_inputs = len(texts)
    op.name = c_text_of(name, "name")
    op.input_names = cast(names, c_void_p)
    op.infer, op.compute = _inferring(infer), _computing(compute)
    op.flags = WEFT_OP_REPLACES
    op.sharding = None if sharding is None else c_text_of(sharding, "sharding")
    _registered.append((op, names))
    error = c_void_p()
    finish(api.weft_register_op(op, error), error)
