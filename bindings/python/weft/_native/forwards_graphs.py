# Made by bindings/c/interface/generate.py from the .toml files beside it. Do not edit it.
# mypy: ignore-errors
"""Functions of the C API that need no code of their own."""

from ctypes import c_int32, c_void_p

from . import functions as api
from . import structs
from .calls import finish
from .classes import Computation, Graph, Model
from .handles import function, handle_of, method, static
from .values import (bytes_of, c_text_of, dims_of, int32_of, int32s_of, int64_of, int64s_of,
                     taken_str, uint32_of, values_of)


@function("ops_json")
def ops_json():
    c_json = structs.weft_text()
    error = c_void_p()
    finish(api.weft_ops_json(c_json, error), error)
    return taken_str(c_json)


@static(Graph, "open")
def graph_open():
    c_graph = c_void_p()
    error = c_void_p()
    finish(api.weft_graph_open(c_graph, error), error)
    return Graph(c_graph.value)


@method(Graph, "set_line")
def graph_set_line(graph, file, line):
    c_file = c_text_of(file, "file")
    c_line = uint32_of(line, "line")
    c_graph = graph._handle or graph._refuse()
    error = c_void_p()
    with graph._lock:
        finish(api.weft_graph_set_line(c_graph, c_file, c_line, error), error)


@method(Graph, "input")
def graph_input(graph, name, dtype, dims):
    c_name = c_text_of(name, "name")
    c_dtype = c_text_of(dtype, "dtype")
    c_dims = dims_of(dims)
    c_graph = graph._handle or graph._refuse()
    c_tensor = c_int32()
    error = c_void_p()
    with graph._lock:
        finish(api.weft_graph_input(c_graph, c_name, c_dtype, c_dims, len(c_dims), c_tensor,
                                    error), error)
        return c_tensor.value


@method(Graph, "weight")
def graph_weight(graph, name, dtype, dims):
    c_name = c_text_of(name, "name")
    c_dtype = c_text_of(dtype, "dtype")
    c_dims = dims_of(dims)
    c_graph = graph._handle or graph._refuse()
    c_tensor = c_int32()
    error = c_void_p()
    with graph._lock:
        finish(api.weft_graph_weight(c_graph, c_name, c_dtype, c_dims, len(c_dims), c_tensor,
                                     error), error)
        return c_tensor.value


@method(Graph, "state")
def graph_state(graph, name, dtype, dims):
    c_name = c_text_of(name, "name")
    c_dtype = c_text_of(dtype, "dtype")
    c_dims = dims_of(dims)
    c_graph = graph._handle or graph._refuse()
    c_tensor = c_int32()
    error = c_void_p()
    with graph._lock:
        finish(api.weft_graph_state(c_graph, c_name, c_dtype, c_dims, len(c_dims), c_tensor,
                                    error), error)
        return c_tensor.value


@method(Graph, "op")
def graph_op(graph, op, inputs, attributes):
    c_op = c_text_of(op, "op")
    c_inputs = int32s_of(inputs, "inputs")
    c_attributes = values_of(attributes)
    c_graph = graph._handle or graph._refuse()
    c_tensor = c_int32()
    error = c_void_p()
    with graph._lock:
        finish(api.weft_graph_op(c_graph, c_op, *c_inputs.buffer_info(), c_attributes,
                                 len(c_attributes), c_tensor, error), error)
        return c_tensor.value


@method(Graph, "set_name")
def graph_set_name(graph, tensor, name):
    c_tensor = int32_of(tensor, "tensor")
    c_name = c_text_of(name, "name")
    c_graph = graph._handle or graph._refuse()
    error = c_void_p()
    with graph._lock:
        finish(api.weft_graph_set_name(c_graph, c_tensor, c_name, error), error)


@method(Graph, "push_scope")
def graph_push_scope(graph, prefix):
    c_prefix = c_text_of(prefix, "prefix")
    c_graph = graph._handle or graph._refuse()
    error = c_void_p()
    with graph._lock:
        finish(api.weft_graph_push_scope(c_graph, c_prefix, error), error)


@method(Graph, "pop_scope")
def graph_pop_scope(graph):
    c_graph = graph._handle or graph._refuse()
    error = c_void_p()
    with graph._lock:
        finish(api.weft_graph_pop_scope(c_graph, error), error)


@method(Graph, "output")
def graph_output(graph, name, tensor):
    c_name = c_text_of(name, "name")
    c_tensor = int32_of(tensor, "tensor")
    c_graph = graph._handle or graph._refuse()
    error = c_void_p()
    with graph._lock:
        finish(api.weft_graph_output(c_graph, c_name, c_tensor, error), error)


@method(Graph, "check")
def graph_check(graph):
    c_graph = graph._handle or graph._refuse()
    error = c_void_p()
    with graph._lock:
        finish(api.weft_graph_check(c_graph, error), error)


@method(Graph, "size")
def graph_get_size(graph):
    c_graph = graph._handle or graph._refuse()
    c_n_nodes = c_int32()
    error = c_void_p()
    finish(api.weft_graph_get_size(c_graph, c_n_nodes, error), error)
    return c_n_nodes.value


@method(Graph, "json")
def graph_json(graph):
    c_graph = graph._handle or graph._refuse()
    c_json = structs.weft_text()
    error = c_void_p()
    finish(api.weft_graph_json(c_graph, c_json, error), error)
    return taken_str(c_json)


@method(Graph, "dot")
def graph_dot(graph):
    c_graph = graph._handle or graph._refuse()
    c_dot = structs.weft_text()
    error = c_void_p()
    with graph._lock:
        finish(api.weft_graph_dot(c_graph, c_dot, error), error)
        return taken_str(c_dot)


@function("dot_svg")
def dot_svg(dot):
    c_dot = bytes_of(dot, "dot")
    c_svg = structs.weft_text()
    error = c_void_p()
    finish(api.weft_dot_svg(c_dot, len(c_dot), c_svg, error), error)
    return taken_str(c_svg)


@static(Graph, "of_model")
def model_graph(model, n_tokens):
    c_n_tokens = int64_of(n_tokens, "n_tokens")
    c_model = handle_of(model, Model, "model")
    c_graph = c_void_p()
    error = c_void_p()
    finish(api.weft_model_graph(c_model, c_n_tokens, c_graph, error), error)
    return Graph(c_graph.value)


@method(Computation, "run")
def computation_run(computation, extents):
    c_extents = int64s_of(extents, "extents")
    c_computation = computation._handle or computation._refuse()
    error = c_void_p()
    with computation._lock:
        finish(api.weft_computation_run(c_computation, *c_extents.buffer_info(), error), error)


@method(Computation, "cancel")
def computation_cancel(computation):
    c_computation = computation._handle or computation._refuse()
    api.weft_computation_cancel(c_computation)


@method(Computation, "verify")
def computation_verify(computation, extents):
    c_extents = int64s_of(extents, "extents")
    c_computation = computation._handle or computation._refuse()
    c_passed = c_int32()
    c_json = structs.weft_text()
    error = c_void_p()
    with computation._lock:
        finish(api.weft_computation_verify(c_computation, *c_extents.buffer_info(), c_passed,
                                           c_json, error), error)
        return (c_passed.value != 0, taken_str(c_json))
