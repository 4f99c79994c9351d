# mypy: ignore-errors
"""Graphs, and their computations."""

from ctypes import c_char, c_size_t, c_uint64, c_uint8, c_void_p, memmove

from . import functions as api
from . import structs
from .callbacks import poll
from .calls import finish
from .classes import Computation, Graph
from .errors import failed, text_of
from .handles import handle_of, method, static
from .options import begun, take
from .tables import WEFT_COMPUTATION_OPTIONS
from .values import address_of, c_text_of, filled, int32_of, int64_of, numpy, taken_str

_TYPES = {"F32": "float32", "I32": "int32", "F16": "float16"}


def numpy_type(dtype):
    """The type of numpy. Raises "dtype" for types that numpy lacks."""
    if dtype not in _TYPES:
        raise failed("dtype", f"numpy has no type for {dtype}")
    return numpy().dtype(_TYPES[dtype])


def array_of(given):
    """An array in the memory of a weft_array."""
    np, kind = numpy(), numpy_type(text_of(given.dtype))
    shape = given.dims[:given.rank]
    strides, stride = [0] * len(shape), kind.itemsize
    for i in reversed(range(len(shape))):
        strides[i] = given.row_stride if i == 0 and len(shape) > 1 else stride
        stride *= shape[i]
    if 0 in shape:
        return np.empty(shape, kind)
    size = kind.itemsize + sum((n - 1) * stride for n, stride in zip(shape, strides))
    return np.ndarray(shape, kind, (c_char * size).from_address(given.data), 0, strides)


def dims_pairs(dims, rank):
    """Dimensions as pairs of a bound and a variable."""
    return [(dims[d].bound, dims[d].variable) for d in range(rank)]


@method(Graph, "variable")
def add_variable(graph, name, bound):
    text, n = c_text_of(name, "name"), int64_of(bound, "bound")
    handle, dim, error = graph._handle or graph._refuse(), structs.weft_dim(), c_void_p()
    finish(api.weft_graph_variable(handle, text, n, dim, error), error)
    return dim.variable


@method(Graph, "info")
def tensor_info(graph, id):
    """Path, type, and the dimensions as pairs of a bound and a variable."""
    tensor, handle = int32_of(id, "id"), graph._handle or graph._refuse()
    info, error = filled(structs.weft_tensor_info), c_void_p()
    with graph._lock:
        finish(api.weft_graph_get_tensor(handle, tensor, info, error), error)
        return info.path.decode(), info.dtype.decode(), dims_pairs(info.dims, info.rank)


@static(Computation, "open")
def open_computation(graph, options):
    o = begun(structs.weft_computation_options, api.weft_computation_options_init)
    o.poll = poll()
    take(o, WEFT_COMPUTATION_OPTIONS, options, "run()")
    handle, computation, error = handle_of(graph, Graph, "graph"), c_void_p(), c_void_p()
    finish(api.weft_computation_open(handle, o, computation, error), error)
    return Computation(computation.value)


def _contiguous(given):
    memoryview(given)  # TypeError unless it is a buffer
    return numpy().ascontiguousarray(given)


@method(Computation, "set_input")
def set_input(computation, name, array):
    """The rows come from the front of an array at its bounds."""
    text, given = c_text_of(name, "name"), _contiguous(array)
    handle = computation._handle or computation._refuse()
    data, size, error = c_void_p(), c_size_t(), c_void_p()
    with computation._lock:
        finish(api.weft_computation_get_input(handle, text, data, size, error), error)
        if given.nbytes > size.value:
            raise failed("shape", f"input '{name}' is larger than its bounds")
        if given.nbytes:
            memmove(data, address_of(given), given.nbytes)


@method(Computation, "set_weight")
def set_weight(computation, name, array):
    text, given = c_text_of(name, "name"), _contiguous(array)
    handle, error = computation._handle or computation._refuse(), c_void_p()
    with computation._lock:
        finish(api.weft_computation_set_weight(handle, text, address_of(given), given.nbytes, error), error)


def _copy(computation, name, get):
    """A copy of what the library lends."""
    text, handle = c_text_of(name, "name"), computation._handle or computation._refuse()
    array, error = structs.weft_array(), c_void_p()
    with computation._lock:
        finish(get(handle, text, array, error), error)
        return array_of(array).copy()


@method(Computation, "output")
def output(computation, name):
    return _copy(computation, name, api.weft_computation_get_output)


@method(Computation, "tensor")
def tensor(computation, path):
    return _copy(computation, path, api.weft_computation_get_tensor)


@method(Computation, "state")
def memory_of_state(computation, name):
    """The memory of a state, which lives as long as the computation."""
    text, handle = c_text_of(name, "name"), computation._handle or computation._refuse()
    data, size, error = c_void_p(), c_size_t(), c_void_p()
    with computation._lock:
        finish(api.weft_computation_get_state(handle, text, data, size, error), error)
    if not size.value:
        return numpy().empty(0, numpy().uint8)
    place = (c_uint8 * size.value).from_address(data.value)
    place.keeps = computation
    return numpy().frombuffer(place, numpy().uint8)


@method(Computation, "plan")
def plan(computation):
    handle = computation._handle or computation._refuse()
    json, svg, hash, error = structs.weft_text(), structs.weft_text(), c_uint64(), c_void_p()
    with computation._lock:
        finish(api.weft_computation_plan_json(handle, json, error), error)
        text = taken_str(json)
        finish(api.weft_computation_plan_svg(handle, svg, error), error)
        picture = taken_str(svg)
        finish(api.weft_computation_get_plan_hash(handle, hash, error), error)
    return text, picture, hash.value
