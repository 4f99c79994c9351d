#include <math.h>
#include <stdlib.h>

#include "check.h"

static weft_value integer(const char* name, int64_t x) {
  return (weft_value){.name = name, .kind = WEFT_VALUE_INTEGER, .integer = x};
}
static weft_value number(const char* name, double x) {
  return (weft_value){.name = name, .kind = WEFT_VALUE_NUMBER, .number = x};
}

/* An op with one or two inputs; -1: none. */
static weft_tensor_id op(weft_graph* graph, const char* name, weft_tensor_id a, weft_tensor_id b,
                         const weft_value* value) {
  weft_error* error = NULL;
  const weft_tensor_id in[] = {a, b};
  weft_tensor_id y = -1;
  OK(weft_graph_op(graph, name, in, b < 0 ? 1 : 2, value, value != NULL, &y, &error));
  return y;
}

/* y = silu(norm(x) w^T), x [T <= 4, 64], w [32, 64]. */
static weft_graph* small_layer(void) {
  weft_error* error = NULL;
  weft_graph* graph = NULL;
  weft_dim dims[2] = {{0, 0, 0}, {64, 0, 0}};
  const weft_dim weight[2] = {{32, 0, 0}, {64, 0, 0}};
  const weft_value eps = number("eps", 1e-5);
  weft_tensor_id x = -1, w = -1;
  OK(weft_graph_open(&graph, &error));
  OK(weft_graph_set_line(graph, "graph_test.c", 31, &error));
  OK(weft_graph_variable(graph, "T", 4, &dims[0], &error));
  OK(weft_graph_input(graph, "x", "F32", dims, 2, &x, &error));
  OK(weft_graph_weight(graph, "up.weight", "F32", weight, 2, &w, &error));
  weft_tensor_id y = op(graph, "linear", op(graph, "rms_norm", x, -1, &eps), w, NULL);
  OK(weft_graph_push_scope(graph, "blk.0", &error));
  y = op(graph, "silu", y, -1, NULL);
  OK(weft_graph_set_name(graph, y, "act", &error));
  OK(weft_graph_pop_scope(graph, &error));
  OK(weft_graph_output(graph, "y", y, &error));
  return graph;
}

static void graphs_are_built_node_by_node(void) {
  weft_error* error = NULL;
  weft_graph* graph = small_layer();
  weft_text text = {NULL, 0};
  weft_tensor_info info = {.struct_size = sizeof info};
  int32_t n = 0;
  OK(weft_graph_check(graph, &error));
  OK(weft_graph_get_size(graph, &n, &error));
  CHECK(n == 5);
  if (OK(weft_graph_get_tensor(graph, 4, &info, &error)))
    CHECK(strcmp(info.path, "blk.0.act") == 0 && strcmp(info.op, "silu") == 0 &&
          strcmp(info.kind, "op") == 0 && strcmp(info.dtype, "F32") == 0 && info.rank == 2 &&
          info.dims[0].bound == 4 && info.dims[0].variable == 1 && info.dims[1].bound == 32 &&
          info.dims[1].variable == 0);
  if (OK(weft_graph_get_tensor(graph, 3, &info, &error))) CHECK(strcmp(info.path, "up") == 0);
  if (OK(weft_graph_json(graph, &text, &error)))
    CHECK(strstr(text.data, "\"where\":\"graph_test.c:31\"") != NULL &&
          strstr(text.data, "\"shape\":[\"T\",64]") != NULL &&
          strstr(text.data, "{\"variables\":[{\"name\":\"T\",\"bound\":4}],\"nodes\":[{") != NULL &&
          strstr(text.data, "\"outputs\":[{\"name\":\"y\",\"node\":4}]}") != NULL);
  weft_text_free(&text);
  if (OK(weft_graph_dot(graph, &text, &error))) CHECK(strncmp(text.data, "digraph", 7) == 0);
  weft_text_free(&text);
  if (OK(weft_ops_json(&text, &error)))
    CHECK(strstr(text.data, "\"name\":\"rope_angles\"") != NULL &&
          strstr(text.data, "\"pairs\":\"adjacent\"") != NULL &&
          strstr(text.data, "\"name\":\"split_heads\"") != NULL);
  weft_text_free(&text);
  CHECK(weft_graph_free(graph) == WEFT_SUCCESS);
}

static void mistakes_are_named_with_their_line(void) {
  weft_error* error = NULL;
  weft_graph* graph = small_layer();
  weft_tensor_id y = -1;
  const weft_tensor_id wrong[] = {0, 77}, xw[] = {0, 0}, absent[] = {-1};
  const weft_dim many[5] = {{1, 0, 0}, {1, 0, 0}, {1, 0, 0}, {1, 0, 0}, {1, 0, 0}};
  const weft_dim unknown[1] = {{4, 9, 0}}, negative[1] = {{-4, 0, 0}};
  const weft_value odd = {.name = "eps", .kind = 9};
  const weft_value heads = integer("n_heads", 5);
  REFUSED(WEFT_ERROR_UNSUPPORTED, "nearest known: rms_norm (graph_test.c:31)",
          weft_graph_op(graph, "rmsnorm", xw, 1, NULL, 0, &y, &error));
  REFUSED(WEFT_ERROR_SHAPE, "linear 'linear': w must be",
          weft_graph_op(graph, "linear", xw, 2, NULL, 0, &y, &error));
  REFUSED(WEFT_ERROR_SHAPE, "multiple of 5 heads",
          weft_graph_op(graph, "split_heads", xw, 1, &heads, 1, &y, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "has 5 nodes, got 77",
          weft_graph_op(graph, "add", wrong, 2, NULL, 0, &y, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "none of its inputs",
          weft_graph_op(graph, "silu", absent, 1, NULL, 0, &y, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "the kind must be 1 to 4 (WEFT_VALUE_..), got 9",
          weft_graph_op(graph, "rms_norm", xw, 1, &odd, 1, &y, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "no array",
          weft_graph_op(graph, "add", xw, (size_t)1 << 63, NULL, 0, &y, &error));
  REFUSED(WEFT_ERROR_DTYPE, "unknown type 'F33'",
          weft_graph_input(graph, "z", "F33", many, 1, &y, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "at most 4 dimensions",
          weft_graph_input(graph, "z", "F32", many, 5, &y, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "number 9",
          weft_graph_state(graph, "z", "F32", unknown, 1, &y, &error));
  REFUSED(WEFT_ERROR_SHAPE, "negative",
          weft_graph_weight(graph, "z", "F32", negative, 1, &y, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "already has a node 'x'",
          weft_graph_set_name(graph, 4, "x", &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "no scope", weft_graph_pop_scope(graph, &error));
  weft_dim dim;
  REFUSED(WEFT_ERROR_ARGUMENT, "", weft_graph_variable(graph, "T", 5, &dim, &error));
  weft_graph_free(graph);
}

/* The computation of small_layer() with some values. */
static weft_computation* computation_of(weft_graph* graph, uint32_t separate_tensors) {
  weft_error* error = NULL;
  weft_computation* c = NULL;
  weft_computation_options options;
  static float w[32 * 64];
  void* data = NULL;
  size_t size = 0;
  weft_computation_options_init(&options, sizeof options);
  options.separate_tensors = separate_tensors;
  if (!OK(weft_computation_open(graph, &options, &c, &error))) return NULL;
  for (int i = 0; i < 32 * 64; ++i) w[i] = sinf((float)i);
  OK(weft_computation_set_weight(c, "up.weight", w, sizeof w, &error));
  OK(weft_computation_get_input(c, "x", &data, &size, &error));
  CHECK(size == 4 * 64 * sizeof(float));
  for (int i = 0; i < 4 * 64; ++i) ((float*)data)[i] = cosf((float)i);
  return c;
}

static void graphs_are_planned_run_and_proved(void) {
  weft_error* error = NULL;
  weft_graph* graph = small_layer();
  weft_computation* c = computation_of(graph, 1);
  weft_graph_free(graph);
  const int64_t two = 2, nine = 9;
  weft_array y, act;
  weft_text text = {NULL, 0};
  uint64_t hash = 0;
  int32_t passed = 0;
  OK(weft_computation_run(c, &two, 1, &error));
  if (OK(weft_computation_get_output(c, "y", &y, &error)) &&
      OK(weft_computation_get_tensor(c, "blk.0.act", &act, &error))) {
    CHECK(y.rank == 2 && y.dims[0] == 2 && y.dims[1] == 32 && strcmp(y.dtype, "F32") == 0);
    CHECK(memcmp(y.data, act.data, 32 * sizeof(float)) == 0);
    double squares = 0, sum = 0;
    for (int i = 0; i < 64; ++i) squares += cos(i) * cos(i) / 64;
    for (int i = 0; i < 64; ++i) sum += cos(i) / sqrt(squares + 1e-5) * sin(i);
    CHECK(fabs(((const float*)y.data)[0] - sum / (1 + exp(-sum))) < 1e-4);
  }
  OK(weft_computation_verify(c, &two, 1, &passed, &text, &error));
  CHECK(passed == 1 && strstr(text.data, "\"silu\"") != NULL);
  weft_text_free(&text);
  OK(weft_computation_plan_json(c, &text, &error));
  weft_text_free(&text);
  OK(weft_computation_get_plan_hash(c, &hash, &error));
  CHECK(hash != 0);
  CHECK(weft_computation_run(c, &nine, 1, NULL) != WEFT_SUCCESS);
  REFUSED(WEFT_ERROR_ARGUMENT, "1 variables, got 0 extents",
          weft_computation_run(c, NULL, 0, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "no weight 'z'", weft_computation_set_weight(c, "z", &y, 1, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "8192 bytes, got 4",
          weft_computation_set_weight(c, "up.weight", &y, 4, &error));
  weft_computation_free(c);
}

/* s[t] = x[t], and y = s: a state keeps what was written. */
static void computations_have_a_budget(void) {
  weft_error* error = NULL;
  weft_graph* graph = small_layer();
  weft_computation* c = NULL;
  weft_computation_options options;
  weft_computation_options_init(&options, sizeof options);
  options.mem_budget = 8000; /* the weight has 8192 bytes */
  REFUSED(WEFT_ERROR_BUDGET, "the memory budget is 7.8",
          weft_computation_open(graph, &options, &c, &error));
  options.mem_budget = -1;
  REFUSED(WEFT_ERROR_ARGUMENT, "mem_budget", weft_computation_open(graph, &options, &c, &error));
  options.mem_budget = 1 << 20;
  if (OK(weft_computation_open(graph, &options, &c, &error))) weft_computation_free(c);
  options.reserved = 1;
  REFUSED(WEFT_ERROR_UNSUPPORTED, "weft_computation_options: reserved",
          weft_computation_open(graph, &options, &c, &error));
  weft_graph_free(graph);
}

static void states_outlive_runs(void) {
  weft_error* error = NULL;
  weft_graph* graph = NULL;
  weft_computation* c = NULL;
  weft_tensor_id x = -1, s = -1, rows = -1, y = -1;
  const weft_dim dims[2] = {{3, 0, 0}, {8, 0, 0}}, ids[1] = {{3, 0, 0}};
  OK(weft_graph_open(&graph, &error));
  OK(weft_graph_input(graph, "x", "F32", dims, 2, &x, &error));
  OK(weft_graph_input(graph, "rows", "I32", ids, 1, &rows, &error));
  OK(weft_graph_state(graph, "s", "F32", dims, 2, &s, &error));
  const weft_tensor_id in[] = {s, x, rows};
  OK(weft_graph_op(graph, "keep_rows", in, 3, NULL, 0, &y, &error));
  OK(weft_graph_output(graph, "y", y, &error));
  if (OK(weft_computation_open(graph, NULL, &c, &error))) {
    void *data = NULL, *kept = NULL;
    size_t size = 0;
    OK(weft_computation_get_input(c, "x", &data, &size, &error));
    ((float*)data)[0] = 7;
    OK(weft_computation_get_input(c, "rows", &data, &size, &error));
    for (int i = 0; i < 3; ++i) ((int32_t*)data)[i] = i;
    OK(weft_computation_run(c, NULL, 0, &error));
    OK(weft_computation_get_state(c, "s", &kept, &size, &error));
    CHECK(size >= 24 * sizeof(float) && ((float*)kept)[0] == 7);
    REFUSED(WEFT_ERROR_ARGUMENT, "no state 'x'",
            weft_computation_get_state(c, "x", &kept, &size, &error));
    weft_array array;
    REFUSED(WEFT_ERROR_ARGUMENT, "tensors share memory",
            weft_computation_get_tensor(c, "x", &array, &error));
    weft_computation_free(c);
  }
  weft_graph_free(graph);
}

static void graphs_of_models_can_be_read(void) {
  weft_error* error = NULL;
  weft_graph* graph = NULL;
  weft_text text = {NULL, 0};
  int32_t n = 0;
  if (OK(weft_model_graph(stories(), 4, &graph, &error))) {
    OK(weft_graph_get_size(graph, &n, &error));
    CHECK(n > 50);
    OK(weft_graph_json(graph, &text, &error));
    CHECK(strstr(text.data, "blk.0.attn_norm") != NULL &&
          strstr(text.data, "models/arch/src/") != NULL);
    weft_text_free(&text);
    weft_graph_free(graph);
  }
  REFUSED(WEFT_ERROR_ARGUMENT, "`n_tokens`", weft_model_graph(stories(), 0, &graph, &error));
}

/* y = factor * x, row by row. */
static weft_status infer_times(void* user, const weft_spec* inputs, size_t n,
                               const weft_value* attributes, size_t n_attributes, weft_spec* output,
                               weft_error** error) {
  (void)user, (void)n;
  if (n_attributes != 1 || strcmp(attributes[0].name, "factor") != 0)
    return weft_error_make(WEFT_ERROR_ARGUMENT, "needs the attribute factor", error);
  *output = inputs[0];
  return WEFT_SUCCESS;
}
static weft_computation* cancelled_by_times; /* NULL: none */
static weft_status compute_times(void* user, const weft_array* inputs, size_t n,
                                 const weft_value* attributes, size_t n_attributes,
                                 weft_array* output, weft_error** error) {
  (void)n, (void)n_attributes;
  if (attributes[0].number == 0) return weft_error_make(WEFT_ERROR_ARGUMENT, "zero", error);
  ++*(int*)user;
  if (cancelled_by_times) CHECK(weft_computation_cancel(cancelled_by_times) == WEFT_SUCCESS);
  for (int64_t r = 0; r < output->dims[0]; ++r) {
    const float* x = (const float*)((char*)inputs[0].data + r * inputs[0].row_stride);
    float* y = (float*)((char*)output->data + r * output->row_stride);
    for (int64_t i = 0; i < output->dims[1]; ++i) y[i] = (float)attributes[0].number * x[i];
  }
  return WEFT_SUCCESS;
}

/* A graph of linear and then the custom op with this factor. */
static weft_graph* with_custom_op(double factor) {
  weft_error* error = NULL;
  weft_graph* graph = small_layer();
  const weft_value value = number("factor", factor);
  OK(weft_graph_output(graph, "z", op(graph, "test_times", 4, -1, &value), &error));
  return graph;
}

static int n_times; /* calls of the op */
static void custom_ops_are_registered_once_or_replaced(void) {
  weft_error* error = NULL;
  const char* names[] = {"x"};
  weft_op times = {.struct_size = sizeof times,
                   .n_inputs = 1,
                   .name = "test_times",
                   .input_names = names,
                   .user = &n_times,
                   .infer = infer_times,
                   .compute = compute_times};
  OK(weft_register_op(&times, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "registered already", weft_register_op(&times, &error));
  times.flags = 2;
  REFUSED(WEFT_ERROR_ARGUMENT, "`flags`", weft_register_op(&times, &error));
  times.flags = WEFT_OP_REPLACES;
  OK(weft_register_op(&times, &error));
  times.sharding = "columns";
  REFUSED(WEFT_ERROR_ARGUMENT, "`sharding` must be elementwise, heads or whole, got 'columns'",
          weft_register_op(&times, &error));
  const char* const forms[] = {"heads", "whole", "elementwise", NULL};
  for (int i = 0; i < 4; ++i) {
    times.sharding = forms[i];
    OK(weft_register_op(&times, &error));
  }
  times.name = "silu";
  REFUSED(WEFT_ERROR_ARGUMENT, "is built in", weft_register_op(&times, &error));
  times.name = "test_more", times.compute = NULL;
  REFUSED(WEFT_ERROR_ARGUMENT, "needs the callbacks", weft_register_op(&times, &error));
}

static void custom_ops_run_and_are_marked(void) {
  weft_error* error = NULL;
  weft_graph* graph = with_custom_op(3);
  weft_computation* c = computation_of(graph, 0);
  const int64_t two = 2;
  weft_array y, z;
  weft_text text = {NULL, 0};
  int32_t passed = 0;
  OK(weft_computation_run(c, &two, 1, &error));
  CHECK(n_times == 1);
  OK(weft_computation_get_output(c, "y", &y, &error));
  OK(weft_computation_get_output(c, "z", &z, &error));
  CHECK(((const float*)z.data)[5] == 3 * ((const float*)y.data)[5]);
  OK(weft_graph_json(graph, &text, &error));
  CHECK(strstr(text.data, "\"attributes\":{\"factor\":3.0}") != NULL);
  weft_text_free(&text);
  OK(weft_computation_plan_json(c, &text, &error));
  CHECK(strstr(text.data, "test_times custom") != NULL);
  weft_text_free(&text);
  OK(weft_computation_verify(c, &two, 1, &passed, &text, &error));
  CHECK(passed == 1 && strstr(text.data, "test_times custom") != NULL);
  weft_text_free(&text);
  weft_computation_free(c);
  weft_graph_free(graph);
}

static void runs_can_be_cancelled(void) {
  weft_error* error = NULL;
  const weft_value two_times = number("factor", 2);
  weft_graph* graph = with_custom_op(2);
  OK(weft_graph_output(graph, "more", op(graph, "test_times", 5, -1, &two_times), &error));
  weft_computation* c = computation_of(graph, 0);
  const int64_t two = 2;
  CHECK(weft_computation_cancel(c) == WEFT_SUCCESS); /* nothing runs */
  OK(weft_computation_run(c, &two, 1, &error));
  cancelled_by_times = c;
  REFUSED(WEFT_ERROR_CANCELLED, "", weft_computation_run(c, &two, 1, &error));
  cancelled_by_times = NULL;
  OK(weft_computation_run(c, &two, 1, &error));
  weft_computation_free(c);
  weft_graph_free(graph);
}

static void failures_of_custom_ops_have_their_message(void) {
  weft_error* error = NULL;
  weft_graph* graph = with_custom_op(0);
  weft_computation* c = computation_of(graph, 0);
  const int64_t two = 2;
  const weft_tensor_id x = 0;
  weft_tensor_id t = -1;
  REFUSED(WEFT_ERROR_ARGUMENT, "needs the attribute factor",
          weft_graph_op(graph, "test_times", &x, 1, NULL, 0, &t, &error));
  REFUSED(WEFT_ERROR_CALLBACK, "node 'test_times': zero", weft_computation_run(c, &two, 1, &error));
  weft_computation_free(c);
  weft_graph_free(graph);
}

const test_case graph_tests[] = {
    {"graphs are built node by node", graphs_are_built_node_by_node},
    {"mistakes are named with their line", mistakes_are_named_with_their_line},
    {"graphs are planned, run and proved", graphs_are_planned_run_and_proved},
    {"states outlive runs", states_outlive_runs},
    {"computations have a budget", computations_have_a_budget},
    {"graphs of models can be read", graphs_of_models_can_be_read},
    {"custom ops are registered once or replaced", custom_ops_are_registered_once_or_replaced},
    {"custom ops run and are marked", custom_ops_run_and_are_marked},
    {"runs can be cancelled", runs_can_be_cancelled},
    {"failures of custom ops have their message", failures_of_custom_ops_have_their_message},
    {NULL, NULL}};
