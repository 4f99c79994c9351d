# Made by bindings/c/interface/generate.py from the .toml files beside it. Do not edit it.
# mypy: ignore-errors
"""Functions of the C API that need no code of their own."""

from ctypes import c_double, c_int32, c_int64, c_void_p

from . import functions as api
from . import structs
from .callbacks import progress_of
from .calls import finish, finish_watched
from .classes import Builder, Graph, Keys, Model
from .handles import function, handle_of, method
from .options import bench_options, quantize_options, session_options
from .values import (c_text_of, int32_of, int32s_of, int64_of, int64s_of, number_of,
                     optional_c_text_of, optional_text_at, taken_str, uint32_of, values_of)


@method(Keys, "integer")
def config_integer(config, key, min, max, fallback):
    c_key = c_text_of(key, "key")
    c_min = int64_of(min, "min")
    c_max = int64_of(max, "max")
    c_fallback = int64_of(fallback, "fallback")
    c_config = config._handle or config._refuse()
    c_value = c_int64()
    error = c_void_p()
    with config._lock:
        finish(api.weft_config_integer(c_config, c_key, c_min, c_max, c_fallback, c_value, error),
                                       error)
        return c_value.value


@method(Keys, "number")
def config_number(config, key, min, max, fallback):
    c_key = c_text_of(key, "key")
    c_min = number_of(min, "min")
    c_max = number_of(max, "max")
    c_fallback = number_of(fallback, "fallback")
    c_config = config._handle or config._refuse()
    c_value = c_double()
    error = c_void_p()
    with config._lock:
        finish(api.weft_config_number(c_config, c_key, c_min, c_max, c_fallback, c_value, error),
                                      error)
        return c_value.value


@method(Keys, "flag")
def config_flag(config, key, fallback):
    c_key = c_text_of(key, "key")
    c_config = config._handle or config._refuse()
    c_value = c_int32()
    error = c_void_p()
    with config._lock:
        finish(api.weft_config_flag(c_config, c_key, bool(fallback), c_value, error), error)
        return c_value.value != 0


@method(Keys, "text")
def config_text(config, key):
    c_key = c_text_of(key, "key")
    c_config = config._handle or config._refuse()
    c_text = c_void_p()
    error = c_void_p()
    with config._lock:
        finish(api.weft_config_text(c_config, c_key, c_text, error), error)
        return optional_text_at(c_text.value)


@method(Keys, "refuse")
def config_refuse(config, key, problem):
    c_key = c_text_of(key, "key")
    c_problem = c_text_of(problem, "problem")
    c_config = config._handle or config._refuse()
    error = c_void_p()
    with config._lock:
        finish(api.weft_config_refuse(c_config, c_key, c_problem, error), error)


@method(Builder, "number")
def builder_get_number(builder, layer, name):
    c_layer = int64_of(layer, "layer")
    c_name = c_text_of(name, "name")
    c_builder = builder._handle or builder._refuse()
    c_value = c_double()
    error = c_void_p()
    finish(api.weft_builder_get_number(c_builder, c_layer, c_name, c_value, error), error)
    return c_value.value


@method(Builder, "integer")
def builder_get_integer(builder, layer, name):
    c_layer = int64_of(layer, "layer")
    c_name = c_text_of(name, "name")
    c_builder = builder._handle or builder._refuse()
    c_value = c_int64()
    error = c_void_p()
    finish(api.weft_builder_get_integer(c_builder, c_layer, c_name, c_value, error), error)
    return c_value.value


@method(Builder, "graph")
def builder_get_graph(builder):
    c_builder = builder._handle or builder._refuse()
    c_graph = c_void_p()
    error = c_void_p()
    finish(api.weft_builder_get_graph(c_builder, c_graph, error), error)
    return Graph(c_graph.value)


@method(Builder, "input")
def builder_get_input(builder, which):
    c_which = int32_of(which, "which")
    c_builder = builder._handle or builder._refuse()
    c_tensor = c_int32()
    error = c_void_p()
    finish(api.weft_builder_get_input(c_builder, c_which, c_tensor, error), error)
    return c_tensor.value


@method(Builder, "wants_embeddings")
def builder_wants_embeddings(builder):
    c_builder = builder._handle or builder._refuse()
    c_wants = c_int32()
    error = c_void_p()
    with builder._lock:
        finish(api.weft_builder_wants_embeddings(c_builder, c_wants, error), error)
        return c_wants.value != 0


@method(Builder, "weight")
def builder_weight(builder, name, dims, flags):
    c_name = c_text_of(name, "name")
    c_dims = int64s_of(dims, "dims")
    c_flags = uint32_of(flags, "flags")
    c_builder = builder._handle or builder._refuse()
    c_tensor = c_int32()
    error = c_void_p()
    with builder._lock:
        finish(api.weft_builder_weight(c_builder, c_name, *c_dims.buffer_info(), c_flags, c_tensor,
                                       error), error)
        return c_tensor.value


@method(Builder, "has")
def builder_has_weight(builder, name):
    c_name = c_text_of(name, "name")
    c_builder = builder._handle or builder._refuse()
    c_has = c_int32()
    error = c_void_p()
    with builder._lock:
        finish(api.weft_builder_has_weight(c_builder, c_name, c_has, error), error)
        return c_has.value != 0


@method(Builder, "ignore")
def builder_ignore_weight(builder, name):
    c_name = c_text_of(name, "name")
    c_builder = builder._handle or builder._refuse()
    error = c_void_p()
    with builder._lock:
        finish(api.weft_builder_ignore_weight(c_builder, c_name, error), error)


@method(Builder, "begin_block")
def builder_begin_block(builder, i):
    c_i = int64_of(i, "i")
    c_builder = builder._handle or builder._refuse()
    error = c_void_p()
    with builder._lock:
        finish(api.weft_builder_begin_block(c_builder, c_i, error), error)


@method(Builder, "end_block")
def builder_end_block(builder):
    c_builder = builder._handle or builder._refuse()
    error = c_void_p()
    with builder._lock:
        finish(api.weft_builder_end_block(c_builder, error), error)


@method(Builder, "recurrent")
def builder_recurrent(builder, kind, state, dims, inputs):
    c_kind = c_text_of(kind, "kind")
    c_state = c_text_of(state, "state")
    c_dims = int64s_of(dims, "dims")
    c_inputs = int32s_of(inputs, "inputs")
    c_builder = builder._handle or builder._refuse()
    c_y = c_int32()
    error = c_void_p()
    with builder._lock:
        finish(api.weft_builder_recurrent(c_builder, c_kind, c_state, *c_dims.buffer_info(),
                                          *c_inputs.buffer_info(), c_y, error), error)
        return c_y.value


@method(Builder, "norm")
def builder_norm(builder, name, x):
    c_name = c_text_of(name, "name")
    c_x = int32_of(x, "x")
    c_builder = builder._handle or builder._refuse()
    c_y = c_int32()
    error = c_void_p()
    with builder._lock:
        finish(api.weft_builder_norm(c_builder, c_name, c_x, c_y, error), error)
        return c_y.value


@method(Builder, "project")
def builder_project(builder, name, n_out, n_in, x):
    c_name = c_text_of(name, "name")
    c_n_out = int64_of(n_out, "n_out")
    c_n_in = int64_of(n_in, "n_in")
    c_x = int32_of(x, "x")
    c_builder = builder._handle or builder._refuse()
    c_y = c_int32()
    error = c_void_p()
    with builder._lock:
        finish(api.weft_builder_project(c_builder, c_name, c_n_out, c_n_in, c_x, c_y, error), error)
        return c_y.value


@method(Builder, "rope_factors")
def builder_rope_factors(builder):
    c_builder = builder._handle or builder._refuse()
    c_factors = c_int32()
    error = c_void_p()
    with builder._lock:
        finish(api.weft_builder_rope_factors(c_builder, c_factors, error), error)
        return c_factors.value


@method(Builder, "head")
def builder_head(builder, h, embeddings):
    c_h = int32_of(h, "h")
    c_embeddings = int32_of(embeddings, "embeddings")
    c_builder = builder._handle or builder._refuse()
    c_rows = c_int32()
    error = c_void_p()
    with builder._lock:
        finish(api.weft_builder_head(c_builder, c_h, c_embeddings, c_rows, error), error)
        return c_rows.value


@function("load_extension")
def load_extension(path):
    c_path = c_text_of(path, "path")
    error = c_void_p()
    finish(api.weft_load_extension(c_path, error), error)


@function("architectures_json")
def architectures_json():
    c_json = structs.weft_text()
    error = c_void_p()
    finish(api.weft_architectures_json(c_json, error), error)
    return taken_str(c_json)


@function("inspect_json")
def inspect_json(path):
    c_path = c_text_of(path, "path")
    c_json = structs.weft_text()
    error = c_void_p()
    finish(api.weft_inspect_json(c_path, c_json, error), error)
    return taken_str(c_json)


@function("plan_json")
def plan_json(model, options):
    c_options = session_options(options)
    c_model = handle_of(model, Model, "model")
    c_json = structs.weft_text()
    error = c_void_p()
    finish(api.weft_plan_json(c_model, c_options, c_json, error), error)
    return taken_str(c_json)


@function("selftest_json")
def selftest_json(model, options):
    c_options = session_options(options)
    c_model = handle_of(model, Model, "model")
    c_passed = c_int32()
    c_json = structs.weft_text()
    finish_watched(lambda canceller, error: api.weft_selftest_json(c_model, c_options, canceller,
                                                c_passed, c_json, error))
    return (c_passed.value != 0, taken_str(c_json))


@function("check_new_model")
def check_new_model_json(architecture, keys, snapshot):
    c_architecture = c_text_of(architecture, "architecture")
    c_keys = values_of(keys)
    c_snapshot = optional_c_text_of(snapshot, "snapshot")
    c_passed = c_int32()
    c_json = structs.weft_text()
    finish_watched(lambda canceller, error: api.weft_check_new_model_json(c_architecture, c_keys,
                                                len(c_keys), c_snapshot, canceller, c_passed,
                                                c_json, error))
    return (c_passed.value != 0, taken_str(c_json))


@function("write_made_model")
def write_made_model(architecture, keys, path):
    c_architecture = c_text_of(architecture, "architecture")
    c_keys = values_of(keys)
    c_path = c_text_of(path, "path")
    error = c_void_p()
    finish(api.weft_write_made_model(c_architecture, c_keys, len(c_keys), c_path, error), error)


@function("bench_json")
def bench_json(model, options):
    c_options = bench_options(options)
    c_model = handle_of(model, Model, "model")
    c_json = structs.weft_text()
    finish_watched(lambda canceller, error: api.weft_bench_json(c_model, c_options, canceller,
                                                c_json, error))
    return taken_str(c_json)


@function("limits_json")
def limits_json(workers, max_bytes):
    c_workers = int32_of(workers, "workers")
    c_max_bytes = int64_of(max_bytes, "max_bytes")
    c_json = structs.weft_text()
    finish_watched(lambda canceller, error: api.weft_limits_json(c_workers, c_max_bytes, canceller,
                                                c_json, error))
    return taken_str(c_json)


@function("quantize")
def quantize(input, output, options):
    c_input = c_text_of(input, "input")
    c_output = c_text_of(output, "output")
    c_options = quantize_options(options)
    error = c_void_p()
    finish(api.weft_quantize(c_input, c_output, c_options, error), error)


@function("convert")
def convert(folder, output, type, progress):
    c_folder = c_text_of(folder, "folder")
    c_output = c_text_of(output, "output")
    c_type = optional_c_text_of(type, "type")
    c_progress = progress_of(progress)
    error = c_void_p()
    finish(api.weft_convert(c_folder, c_output, c_type, c_progress, None, error), error)
