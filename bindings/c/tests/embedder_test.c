#include <math.h>

#include "check.h"

static const weft_string texts[] = {{"The cat sat.", 12}, {"A dog ran away quickly", 22}};

/* An embedder of the bundled model for short texts; NULL with an error. */
static weft_embedder* open_embedder(const char* pooling, int norm, weft_error** error) {
  weft_embedder* embedder = NULL;
  weft_embedder_options options;
  weft_session_options session;
  weft_session_options_init(&session, sizeof session);
  session.context = 128;
  weft_embedder_options_init(&options, sizeof options);
  options.pooling = pooling;
  options.norm = norm;
  options.session = &session;
  weft_embedder_open(stories(), &options, &embedder, error);
  return embedder;
}

static void texts_become_vectors(void) {
  weft_error* error = NULL;
  weft_embedder* embedder = open_embedder("mean", 2, &error);
  weft_embedder_info info = {.struct_size = sizeof info};
  weft_embedding all[2], one;
  OK(weft_embedder_get_info(embedder, &info, &error));
  CHECK(strcmp(info.pooling, "mean") == 0 && info.width > 0 && info.max_tokens > 0);
  if (OK(weft_embedder_embed(embedder, texts, 2, all, &error))) {
    double length = 0;
    for (size_t i = 0; i < all[0].n_values; ++i) length += all[0].values[i] * all[0].values[i];
    CHECK(fabs(length - 1) < 1e-5);
    CHECK(all[0].n_values == (size_t)info.width && all[0].n_tokens > 1);
    const float first = all[1].values[0];
    weft_token tokens[32];
    size_t n = 0;
    OK(weft_tokenize(stories(), texts[1].data, texts[1].size, WEFT_TOKENIZE_ADD_SPECIAL, tokens, 32,
                     &n, &error));
    OK(weft_embedder_embed_tokens(embedder, tokens, n, &one, &error));
    CHECK(one.values[0] == first && one.n_tokens == (int64_t)n);
  }
  weft_embedder_free(embedder);
  embedder = open_embedder("none", -1, &error);
  OK(weft_embedder_embed(embedder, texts, 1, &one, &error));
  CHECK(one.n_values == (size_t)(one.n_tokens * info.width));
  weft_embedder_free(embedder);
}

static void open_embedders_take_another_norm(void) {
  weft_error* error = NULL;
  weft_embedder* embedder = open_embedder("mean", 2, &error);
  weft_embedding one;
  weft_embedder_info info = {.struct_size = sizeof info};
  OK(weft_embedder_set_output(embedder, 0, 1, &error));
  float most = 0;
  if (OK(weft_embedder_embed(embedder, texts, 1, &one, &error)))
    for (size_t i = 0; i < one.n_values; ++i) most = fmaxf(most, fabsf(one.values[i]));
  CHECK(fabsf(most - 32760) < 0.01F);
  OK(weft_embedder_get_info(embedder, &info, &error));
  CHECK(info.truncate == 1);
  REFUSED(WEFT_ERROR_ARGUMENT, "norm", weft_embedder_set_output(embedder, -2, 1, &error));
  weft_embedder_free(embedder);
  REFUSED(WEFT_ERROR_HANDLE, "freed", weft_embedder_set_output(embedder, 2, 1, &error));
}

static void bad_texts_and_options_are_refused(void) {
  weft_error* error = NULL;
  weft_embedder* embedder = open_embedder("mean", 2, &error);
  weft_embedding all[2];
  weft_rerank_score scores[2];
  const weft_string empty = {"", 0};
  const weft_token wrong = -1;
  CHECK(weft_embedder_cancel(embedder) == WEFT_SUCCESS);
  REFUSED(WEFT_ERROR_ARGUMENT, "", weft_embedder_embed(embedder, &empty, 1, all, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`embeddings` is NULL",
          weft_embedder_embed(embedder, texts, 2, NULL, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "", weft_embedder_embed_tokens(embedder, &wrong, 1, all, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "",
          weft_embedder_rerank(embedder, "q", 1, texts, 2, scores, &error));
  weft_embedder_free(embedder);

  CHECK(open_embedder("sum", 2, &error) == NULL);
  CHECK(strstr(weft_error_message(error), "unknown pooling 'sum'") != NULL);
  weft_error_free(error);
  CHECK(open_embedder("rank", 2, &error) == NULL);
  CHECK(weft_error_status(error) == WEFT_ERROR_UNSUPPORTED);
  weft_error_free(error);
}

/* A session of the bundled model with a budget of 16 MiB, of which the caller has some. */
static weft_session* session_beside(int64_t caller_bytes) {
  weft_error* error = NULL;
  weft_session* session = NULL;
  weft_session_options options;
  weft_session_options_init(&options, sizeof options);
  options.context = 128;
  options.mem_budget = 16 << 20;
  options.caller_bytes = caller_bytes;
  options.weights = WEFT_WEIGHTS_MAPPED;
  OK(weft_session_open(stories(), &options, &session, &error));
  return session;
}

static weft_status open_beside(weft_session* session, weft_model* model, weft_embedder** embedder,
                               weft_error** error) {
  weft_embedder_options options;
  weft_embedder_options_init(&options, sizeof options);
  options.beside = session;
  *embedder = NULL;
  return weft_embedder_open(model, &options, embedder, error);
}

/* Of weights that both map, the embedder counts nothing again. */
static void embedders_share_the_budget_of_a_session(void) {
  weft_error* error = NULL;
  weft_embedder* embedder = NULL;
  weft_embedding one;
  weft_session* session = session_beside(0);
  OK(open_beside(session, stories(), &embedder, &error));
  OK(weft_embedder_embed(embedder, texts, 1, &one, &error));
  weft_embedder_free(embedder);
  weft_session_free(session);

  /* What the caller takes of the budget is not there for the embedder: the session takes 3.3 of the
   * 3.5 MiB that are left. */
  session = session_beside(25 << 19);
  REFUSED(WEFT_ERROR_BUDGET, "", open_beside(session, stories(), &embedder, &error));
  CHECK(embedder == NULL);

  weft_model* other = NULL;
  OK(weft_write_made_model("llama", NULL, 0, temporary("other.gguf"), &error));
  OK(weft_model_open(temporary("other.gguf"), NULL, &other, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "another model", open_beside(session, other, &embedder, &error));
  weft_model_free(other);
  weft_session_free(session);
  REFUSED(WEFT_ERROR_HANDLE, "freed", open_beside(session, stories(), &embedder, &error));
}

/* A model that makes embeddings has no texts to give. */
static void encoders_write_no_text(void) {
  weft_error* error = NULL;
  weft_model* model = NULL;
  weft_session* session = NULL;
  weft_generation* generation = NULL;
  OK(weft_write_made_model("bert", NULL, 0, temporary("bert.gguf"), &error));
  OK(weft_model_open(temporary("bert.gguf"), NULL, &model, &error));
  OK(weft_session_open(model, NULL, &session, &error));
  REFUSED(WEFT_ERROR_UNSUPPORTED, "bert.gguf: the model makes embeddings, not text",
          weft_generation_open(session, 0, NULL, &generation, &error));
  weft_session_free(session);
  weft_model_free(model);
}

const test_case embedder_tests[] = {
    {"texts become vectors", texts_become_vectors},
    {"open embedders take another norm", open_embedders_take_another_norm},
    {"bad texts and options are refused", bad_texts_and_options_are_refused},
    {"embedders share the budget of a session", embedders_share_the_budget_of_a_session},
    {"encoders write no text", encoders_write_no_text},
    {NULL, NULL}};
