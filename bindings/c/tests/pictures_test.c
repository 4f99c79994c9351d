#include "check.h"

/* Whether it is a picture; frees it. */
static int is_picture(weft_text* svg) {
  const int is = svg->data != NULL && strstr(svg->data, "<svg") != NULL &&
                 strcmp(svg->data + svg->size - 7, "</svg>\n") == 0;
  weft_text_free(svg);
  return is;
}

/* y = silu(x), x [64]. */
static weft_graph* small_graph(void) {
  weft_error* error = NULL;
  weft_graph* graph = NULL;
  const weft_dim dim = {.bound = 64};
  weft_tensor_id x = -1, y = -1;
  OK(weft_graph_open(&graph, &error));
  OK(weft_graph_input(graph, "x", "F32", &dim, 1, &x, &error));
  OK(weft_graph_op(graph, "silu", &x, 1, NULL, 0, &y, &error));
  OK(weft_graph_output(graph, "y", y, &error));
  return graph;
}

static void graphs_are_drawn_by_graphviz(void) {
  weft_error* error = NULL;
  weft_graph* graph = small_graph();
  weft_text dot = {NULL, 0}, svg = {NULL, 0};
  OK(weft_graph_dot(graph, &dot, &error));
  const weft_status status = weft_dot_svg(dot.data, dot.size, &svg, &error);
  if (status == WEFT_ERROR_UNSUPPORTED) { /* Graphviz is not installed */
    CHECK(strstr(weft_error_message(error), "graphviz") != NULL);
    weft_error_free(error);
  } else if (OK(status)) {
    CHECK(is_picture(&svg));
    REFUSED(WEFT_ERROR_IO, "'dot -Tsvg' failed", weft_dot_svg("digraph {", 9, &svg, &error));
  }
  REFUSED(WEFT_ERROR_ARGUMENT, "`dot` is NULL", weft_dot_svg(NULL, 1, &svg, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`svg` is NULL", weft_dot_svg(dot.data, 1, NULL, &error));
  weft_text_free(&dot);
  weft_graph_free(graph);
}

static void plans_are_drawn(void) {
  weft_error* error = NULL;
  weft_graph* graph = small_graph();
  weft_computation* computation = NULL;
  weft_session* session = new_session(1);
  weft_text svg = {NULL, 0};
  if (OK(weft_computation_open(graph, NULL, &computation, &error))) {
    OK(weft_computation_plan_svg(computation, &svg, &error));
    CHECK(is_picture(&svg));
  }
  if (OK(weft_session_plan_svg(session, 1, &svg, &error))) {
    CHECK(strstr(svg.data, "plan decode") != NULL && strstr(svg.data, "joins") != NULL);
    CHECK(is_picture(&svg));
  }
  REFUSED(WEFT_ERROR_ARGUMENT, "`n_tokens`", weft_session_plan_svg(session, 0, &svg, &error));
  REFUSED(WEFT_ERROR_HANDLE, "", weft_computation_plan_svg(NULL, &svg, &error));
  weft_computation_free(computation);
  weft_session_free(session);
  weft_graph_free(graph);
}

static void graphs_of_plans_are_drawn_without_a_session(void) {
  weft_error* error = NULL;
  weft_model* model = stories();
  weft_session* session = new_session(1);
  weft_session_options options;
  weft_text a = {NULL, 0}, b = {NULL, 0};
  OK(weft_session_options_init(&options, sizeof options));
  OK(weft_session_dot(session, 1, &a, &error));
  if (OK(weft_model_dot(model, NULL, 1, &b, &error))) {
    CHECK(strstr(b.data, "2 lanes") != NULL || strstr(b.data, "1 lanes") != NULL);
    CHECK(strstr(b.data, "quantize") != NULL && strstr(b.data, "backend cpu") != NULL);
    CHECK(strncmp(a.data, "digraph", 7) == 0);
    weft_text_free(&b);
  }
  options.backend = "reference";
  options.passes_off = "all";
  if (OK(weft_model_dot(model, &options, 4, &b, &error))) {
    CHECK(strstr(b.data, "backend reference") != NULL && strstr(b.data, "prefill") != NULL);
    weft_text_free(&b);
  }
  REFUSED(WEFT_ERROR_ARGUMENT, "`n_tokens`", weft_model_dot(model, NULL, 0, &b, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`n_tokens`", weft_model_dot(model, NULL, 1 << 20, &b, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`dot` is NULL", weft_model_dot(model, NULL, 1, NULL, &error));
  options.mem_budget = 1;
  REFUSED(WEFT_ERROR_BUDGET, "", weft_model_dot(model, &options, 1, &b, &error));
  weft_text_free(&a);
  weft_session_free(session);
}

static void steps_are_measured(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(1);
  const weft_token tokens[] = {5, 6, 7};
  weft_text json = {NULL, 0}, svg = {NULL, 0};
  float* logits = NULL;
  float first;
  size_t n;
  int64_t length = 0;
  OK(weft_session_feed(session, 0, tokens, 3, NULL, NULL, &error));
  OK(weft_session_get_logits(session, &logits, &n, &error));
  first = logits[0];
  OK(weft_session_truncate(session, 0, 0, &error));
  if (OK(weft_session_profile(session, 0, tokens, 3, &json, &svg, &error))) {
    CHECK(strstr(json.data, "\"n_tokens\":3,\"depth\":0") != NULL);
    CHECK(strstr(json.data, "\"path\":\"blk.0.attn_norm\"") != NULL);
    CHECK(is_picture(&svg));
    weft_text_free(&json);
  }
  OK(weft_session_get_logits(session, &logits, &n, &error));
  CHECK(logits[0] == first);
  if (OK(weft_session_profile(session, 0, tokens, 1, &json, NULL, &error))) {
    CHECK(strstr(json.data, "\"n_tokens\":1,\"depth\":3") != NULL);
    weft_text_free(&json);
  }
  OK(weft_session_get_length(session, 0, &length, &error));
  CHECK(length == 4);
  REFUSED(WEFT_ERROR_ARGUMENT, "`n` must",
          weft_session_profile(session, 0, tokens, 0, &json, NULL, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`json` is NULL",
          weft_session_profile(session, 0, tokens, 1, NULL, NULL, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "sequence 9",
          weft_session_profile(session, 9, tokens, 1, &json, NULL, &error));
  OK(weft_session_get_length(session, 0, &length, &error));
  CHECK(length == 4);
  weft_session_free(session);
}

const test_case pictures_tests[] = {
    {"graphs are drawn by Graphviz", graphs_are_drawn_by_graphviz},
    {"plans are drawn", plans_are_drawn},
    {"graphs of plans are drawn without a session", graphs_of_plans_are_drawn_without_a_session},
    {"steps are measured", steps_are_measured},
    {NULL, NULL}};
