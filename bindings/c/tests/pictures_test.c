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

const test_case pictures_tests[] = {{"graphs are drawn by Graphviz", graphs_are_drawn_by_graphviz},
                                    {"plans are drawn", plans_are_drawn},
                                    {NULL, NULL}};
