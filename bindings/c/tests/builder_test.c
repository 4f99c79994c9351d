/* Builders whose result is not what a step asks for. */
#include "check.h"

#define TRY(function_call)                             \
  do {                                                 \
    const weft_status try_status = (function_call);    \
    if (try_status != WEFT_SUCCESS) return try_status; \
  } while (0)

/* Logits for the rows that the step asks for, or (if *user is 0) for each token. */
static weft_status build_bigram(void* user, weft_builder* b, weft_tensor_id* result,
                                weft_error** error) {
  weft_graph* g = NULL;
  weft_tensor_id in[2], rows[2];
  int64_t shape[2];
  TRY(weft_builder_get_graph(b, &g, error));
  TRY(weft_builder_get_integer(b, -1, "V", &shape[0], error));
  TRY(weft_builder_get_integer(b, -1, "D", &shape[1], error));
  TRY(weft_builder_weight(b, "token_embd.weight", shape, 2, 0, &in[0], error));
  TRY(weft_builder_get_input(b, WEFT_INPUT_TOKENS, &in[1], error));
  TRY(weft_graph_op(g, "get_rows", in, 2, NULL, 0, &rows[0], error));
  TRY(weft_builder_get_input(b, WEFT_INPUT_OUT_ROWS, &rows[1], error));
  if (*(const int*)user) TRY(weft_graph_op(g, "get_rows", rows, 2, NULL, 0, &rows[0], error));
  rows[1] = in[0];
  return weft_graph_op(g, "linear", rows, 2, NULL, 0, result, error);
}

static void an_output_with_other_rows_is_refused(void) {
  weft_error* error = NULL;
  weft_model* model = NULL;
  static int picks = 0; /* as long as the architecture lives */
  const weft_architecture a = {
      .struct_size = sizeof a, .name = "test_bigram", .user = &picks, .build = build_bigram};
  OK(weft_register_architecture(&a, &error));
  OK(weft_write_made_model("test_bigram", NULL, 0, temporary("own.gguf"), &error));
  REFUSED(WEFT_ERROR_SHAPE,
          "the logits of a step must be F32 [O, 50], got F32 [T, 50]; pick the rows `out_rows`",
          weft_model_open(temporary("own.gguf"), NULL, &model, &error));
  picks = 1;
  weft_session_options embedding = WEFT_SESSION_OPTIONS_INIT;
  embedding.embeddings = 1;
  weft_session* session = NULL;
  if (!OK(weft_model_open(temporary("own.gguf"), NULL, &model, &error))) return;
  REFUSED(WEFT_ERROR_SHAPE, "the embeddings of a step must be F32 [O, 64], got F32 [O, 50]",
          weft_session_open(model, &embedding, &session, &error));
  OK(weft_session_open(model, NULL, &session, &error));
  weft_session_free(session);
  weft_model_free(model);
}

const test_case builder_tests[] = {
    {"an output with other rows is refused", an_output_with_other_rows_is_refused}, {NULL, NULL}};
