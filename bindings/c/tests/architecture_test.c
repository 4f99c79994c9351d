#include <stdlib.h>

#include "check.h"

#define TRY(function_call)                             \
  do {                                                 \
    const weft_status try_status = (function_call);    \
    if (try_status != WEFT_SUCCESS) return try_status; \
  } while (0)

static const weft_value none;
static weft_value integer(const char* name, int64_t x) {
  return (weft_value){.name = name, .kind = WEFT_VALUE_INTEGER, .integer = x};
}
static weft_value text(const char* name, const char* x) {
  return (weft_value){.name = name, .kind = WEFT_VALUE_TEXT, .text = x};
}

/* What the functions of a builder need. */
typedef struct build {
  weft_builder* b;
  weft_graph* g;
  weft_error** error;
  int64_t D, H, G, E, F, V, L;
} build;

static weft_status start(build* at, weft_builder* b, weft_error** error) {
  const struct {
    const char* name;
    int64_t* value;
  } sizes[] = {{"D", &at->D}, {"H", &at->H}, {"G", &at->G}, {"E", &at->E},
               {"F", &at->F}, {"V", &at->V}, {"L", &at->L}};
  at->b = b;
  at->error = error;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
    TRY(weft_builder_get_integer(b, -1, sizes[i].name, sizes[i].value, error));
  return weft_builder_get_graph(b, &at->g, error);
}

static weft_status op(build* at, const char* name, weft_tensor_id x, weft_tensor_id z,
                      weft_value value, const char* path, weft_tensor_id* y) {
  const weft_tensor_id in[] = {x, z};
  TRY(weft_graph_op(at->g, name, in, z < 0 ? 1 : 2, &value, value.name != NULL, y, at->error));
  return path != NULL ? weft_graph_set_name(at->g, *y, path, at->error) : WEFT_SUCCESS;
}

static weft_status attention(build* at, int64_t i, weft_tensor_id x, weft_tensor_id angles,
                             weft_tensor_id* y) {
  weft_tensor_id q, k, v;
  const int64_t q_rows = at->H * at->E, k_rows = at->G * at->E;
  TRY(weft_builder_project(at->b, "attn_q", q_rows, at->D, x, &q, at->error));
  TRY(weft_builder_project(at->b, "attn_k", k_rows, at->D, x, &k, at->error));
  TRY(weft_builder_project(at->b, "attn_v", k_rows, at->D, x, &v, at->error));
  TRY(op(at, "split_heads", q, -1, integer("n_heads", at->H), NULL, &q));
  TRY(op(at, "split_heads", k, -1, integer("n_heads", at->G), NULL, &k));
  TRY(op(at, "split_heads", v, -1, integer("n_heads", at->G), NULL, &v));
  TRY(op(at, "rope", q, angles, text("pairs", "adjacent"), "attn_q_rope", &q));
  TRY(op(at, "rope", k, angles, text("pairs", "adjacent"), "attn_k_rope", &k));
  TRY(weft_builder_attend(at->b, i, q, k, v, NULL, y, at->error));
  TRY(op(at, "merge_heads", *y, -1, none, "attn_merged", y));
  return weft_builder_project(at->b, "attn_output", at->D, q_rows, *y, y, at->error);
}

static weft_status layer(build* at, int64_t i, weft_tensor_id angles, weft_tensor_id* h) {
  weft_tensor_id x, y, up;
  TRY(weft_builder_begin_block(at->b, i, at->error));
  TRY(weft_builder_norm(at->b, "attn_norm", *h, &x, at->error));
  TRY(attention(at, i, x, angles, &y));
  TRY(op(at, "add", *h, y, none, "attn_residual", h));
  TRY(weft_builder_norm(at->b, "ffn_norm", *h, &x, at->error));
  TRY(weft_builder_project(at->b, "ffn_gate", at->F, at->D, x, &y, at->error));
  TRY(weft_builder_project(at->b, "ffn_up", at->F, at->D, x, &up, at->error));
  TRY(op(at, "silu", y, -1, none, NULL, &y));
  TRY(op(at, "mul", y, up, none, "ffn_act", &y));
  TRY(weft_builder_project(at->b, "ffn_down", at->D, at->F, y, &y, at->error));
  TRY(op(at, "add", *h, y, none, "ffn_residual", h));
  return weft_builder_end_block(at->b, at->error);
}

/* Rows of the embeddings, after which layers come. */
static weft_status embed(build* at, weft_tensor_id* embeddings, weft_tensor_id* h) {
  const int64_t shape[] = {at->V, at->D};
  weft_tensor_id tokens;
  TRY(weft_builder_weight(at->b, "token_embd.weight", shape, 2, 0, embeddings, at->error));
  TRY(weft_builder_get_input(at->b, WEFT_INPUT_TOKENS, &tokens, at->error));
  return op(at, "get_rows", *embeddings, tokens, none, NULL, h);
}

static weft_status angles_of(build* at, weft_tensor_id* angles) {
  weft_value values[32];
  weft_tensor_id in[2];
  size_t n = 0;
  TRY(weft_builder_get_rope(at->b, values, 32, &n, at->error));
  TRY(weft_builder_get_input(at->b, WEFT_INPUT_POSITIONS, &in[0], at->error));
  TRY(weft_builder_rope_factors(at->b, &in[1], at->error));
  return weft_graph_op(at->g, "rope_angles", in, 2, values, n, angles, at->error);
}

static weft_status build_llama(void* user, weft_builder* b, weft_tensor_id* result,
                               weft_error** error) {
  build at = {0};
  weft_tensor_id embeddings, angles, h;
  ++*(int*)user;
  TRY(start(&at, b, error));
  TRY(weft_graph_set_line(at.g, "architecture_test.c", 101, error));
  const int64_t shape[] = {at.V, at.D};
  TRY(weft_builder_weight(b, "token_embd.weight", shape, 2, 0, &embeddings, error));
  TRY(angles_of(&at, &angles));
  TRY(embed(&at, &embeddings, &h));
  for (int64_t i = 0; i < at.L; ++i) TRY(layer(&at, i, angles, &h));
  return weft_builder_head(b, h, embeddings, result, error);
}

/* The logits of three tokens, and the hash of the plan for one; the caller frees them. */
static float* logits_of(const char* path, uint64_t* hash, size_t* n) {
  weft_error* error = NULL;
  weft_model* model = NULL;
  weft_session* session = NULL;
  const weft_token tokens[] = {1, 2, 3};
  float* logits = NULL;
  float* copy = NULL;
  if (OK(weft_model_open(path, NULL, &model, &error)) &&
      OK(weft_session_open(model, NULL, &session, &error)) &&
      OK(weft_session_feed(session, 0, tokens, 3, NULL, NULL, &error)) &&
      OK(weft_session_get_logits(session, &logits, n, &error))) {
    OK(weft_session_get_plan_hash(session, 1, hash, &error));
    copy = malloc(*n * sizeof *copy);
    memcpy(copy, logits, *n * sizeof *copy);
  }
  weft_session_free(session);
  weft_model_free(model);
  return copy;
}

static void an_architecture_in_c_has_plan_and_bits_of_the_built_in_one(void) {
  weft_error* error = NULL;
  static int calls = 0; /* as long as the architecture lives */
  weft_architecture llama = {
      .struct_size = sizeof llama, .name = "test_llama", .user = &calls, .build = build_llama};
  OK(weft_register_architecture(&llama, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "already exists", weft_register_architecture(&llama, &error));
  uint64_t hashes[2] = {0, 1};
  size_t n[2] = {0, 1};
  float* logits[2];
  OK(weft_write_made_model("llama", NULL, 0, temporary("built_in.gguf"), &error));
  logits[0] = logits_of(temporary("built_in.gguf"), &hashes[0], &n[0]);
  OK(weft_write_made_model("test_llama", NULL, 0, temporary("own.gguf"), &error));
  logits[1] = logits_of(temporary("own.gguf"), &hashes[1], &n[1]);
  CHECK(calls > 0 && hashes[0] == hashes[1] && n[0] == n[1]);
  if (n[0] == n[1]) CHECK(memcmp(logits[0], logits[1], n[0] * sizeof **logits) == 0);
  free(logits[0]);
  free(logits[1]);
  weft_text names = {NULL, 0};
  if (OK(weft_architectures_json(&names, &error)))
    CHECK(strstr(names.data, "\"test_llama\"") != NULL);
  weft_text_free(&names);
}

static void architectures_can_be_replaced(void) {
  weft_error* error = NULL;
  static int calls = 0;
  weft_architecture llama = {.struct_size = sizeof llama,
                             .flags = WEFT_ARCHITECTURE_REPLACES,
                             .name = "test_llama",
                             .user = &calls,
                             .build = build_llama};
  uint64_t hash = 0;
  size_t n = 0;
  OK(weft_register_architecture(&llama, &error));
  free(logits_of(temporary("own.gguf"), &hash, &n));
  CHECK(calls > 0);
  llama.flags |= WEFT_ARCHITECTURE_DIFFUSES;
  REFUSED(WEFT_ERROR_ARGUMENT, "diffuses", weft_register_architecture(&llama, &error));
  llama.flags = WEFT_ARCHITECTURE_REPLACES;
  llama.name = "llama";
  REFUSED(WEFT_ERROR_ARGUMENT, "'llama' already exists",
          weft_register_architecture(&llama, &error));
}

static void an_architecture_in_c_is_checked_as_others_are(void) {
  weft_error* error = NULL;
  weft_text report = {NULL, 0};
  int32_t passed = 0;
  if (OK(weft_check_new_model_json("test_llama", NULL, 0, NULL, NULL, &passed, &report, &error)))
    CHECK(passed == 1);
  if (passed != 1 && report.data != NULL) fputs(report.data, stderr);
  weft_text_free(&report);
}

/* Reads keys of every kind. */
static weft_status configure(void* user, weft_config* c, weft_error** error) {
  double scale = 0;
  int64_t taps = 0;
  int32_t flag = 0;
  const char* name = NULL;
  *(weft_config**)user = c;
  TRY(weft_config_number(c, "test.scale", 0.5, 4, 2, &scale, error));
  TRY(weft_config_integer(c, "test.taps", 2, 8, 4, &taps, error));
  TRY(weft_config_flag(c, "test.flag", 1, &flag, error));
  TRY(weft_config_text(c, "test.name", &name, error));
  if (name != NULL && strcmp(name, "bad") == 0)
    return weft_config_refuse(c, "test.name", "must not be bad", error);
  return scale >= 0.5 && taps >= 2 && flag == 1
             ? WEFT_SUCCESS
             : weft_error_make(WEFT_ERROR_INTERNAL, "keys were not read", error);
}

/* h + scale * conv(shift(h)) in every layer, with states of their own. */
static weft_status build_recurrent(void* user, weft_builder* b, weft_tensor_id* result,
                                   weft_error** error) {
  (void)user;
  build at = {0};
  weft_tensor_id embeddings, h, x, w;
  int64_t taps = 0;
  int32_t wants = 0, has = 1;
  double scale = 0;
  TRY(start(&at, b, error));
  TRY(embed(&at, &embeddings, &h));
  TRY(weft_builder_get_integer(b, -1, "test.taps", &taps, error));
  TRY(weft_builder_get_number(b, -1, "test.scale", &scale, error));
  TRY(weft_builder_has_weight(b, "no.such.weight", &has, error));
  TRY(weft_builder_ignore_weight(b, "rope_freqs.weight", error));
  const int64_t width[] = {at.D}, kernel[] = {at.D, taps}, state[] = {at.D, taps - 1};
  for (int64_t i = 0; i < at.L; ++i) {
    char name[32];
    const weft_value factor = {.name = "factor", .kind = WEFT_VALUE_NUMBER, .number = scale};
    snprintf(name, sizeof name, "shift.%d", (int)i);
    TRY(weft_builder_recurrent(b, "token_shift", name, width, 1, &h, 1, &x, error));
    TRY(weft_builder_begin_block(b, i, error));
    TRY(weft_builder_weight(b, "conv.weight", kernel, 2, 0, &w, error));
    const weft_tensor_id in[] = {x, w};
    snprintf(name, sizeof name, "conv.%d", (int)i);
    TRY(weft_builder_recurrent(b, "causal_conv", name, state, 2, in, 2, &x, error));
    TRY(op(&at, "scale", x, -1, factor, NULL, &x));
    TRY(op(&at, "add", h, x, none, NULL, &h));
    TRY(weft_builder_end_block(b, error));
  }
  TRY(weft_builder_wants_embeddings(b, &wants, error));
  return has == 0 ? weft_builder_head(b, h, embeddings, result, error)
                  : weft_error_make(WEFT_ERROR_INTERNAL, "has_weight", error);
}

static void keys_and_states_are_those_of_the_architecture(void) {
  weft_error* error = NULL;
  static weft_config* last = NULL;
  const weft_architecture recurrent = {.struct_size = sizeof recurrent,
                                       .name = "test_recurrent",
                                       .user = &last,
                                       .configure = configure,
                                       .build = build_recurrent};
  OK(weft_register_architecture(&recurrent, &error));
  const weft_value keys[] = {integer("test_recurrent.test.taps", 3)};
  const weft_value wide[] = {integer("test_recurrent.test.taps", 99)};
  const weft_value bad[] = {text("test_recurrent.test.name", "bad")};
  uint64_t hash = 0;
  size_t n = 0;
  OK(weft_write_made_model("test_recurrent", keys, 1, temporary("own.gguf"), &error));
  free(logits_of(temporary("own.gguf"), &hash, &n));
  CHECK(n > 0);
  REFUSED(WEFT_ERROR_FORMAT, "test_recurrent.test.taps' is 99, must be 2..8",
          weft_write_made_model("test_recurrent", wide, 1, temporary("own.gguf"), &error));
  REFUSED(WEFT_ERROR_FORMAT, "key 'test_recurrent.test.name' must not be bad",
          weft_write_made_model("test_recurrent", bad, 1, temporary("own.gguf"), &error));
  int64_t value = 0;
  REFUSED(WEFT_ERROR_HANDLE, "the config was freed",
          weft_config_integer(last, "x", 0, 1, 0, &value, &error));
}

/* Attention of every kind, over the rows of the embeddings. */
static weft_status build_attention(void* user, weft_builder* b, weft_tensor_id* result,
                                   weft_error** error) {
  (void)user;
  build at = {0};
  weft_tensor_id embeddings, h, x, y;
  weft_attend_options how;
  TRY(start(&at, b, error));
  TRY(embed(&at, &embeddings, &h));
  TRY(op(&at, "split_heads", h, -1, integer("n_heads", 2), NULL, &x));
  TRY(weft_attend_options_init(&how, sizeof how));
  how.window = 16;
  how.softcap = 30;
  TRY(weft_builder_attend(b, 0, x, x, x, &how, &y, error));
  TRY(weft_graph_push_scope(at.g, "stored", error));
  TRY(weft_builder_attend_stored(b, 0, y, &how, &y, error));
  TRY(weft_graph_pop_scope(at.g, error));
  TRY(weft_graph_push_scope(at.g, "others", error));
  TRY(weft_attend_options_init(&how, sizeof how));
  how.chunk = 8;
  TRY(weft_builder_attend(b, 1, y, y, y, &how, &y, error));
  TRY(weft_graph_pop_scope(at.g, error));
  TRY(weft_graph_push_scope(at.g, "latent", error));
  how.chunk = 0;
  TRY(op(&at, "merge_heads", y, -1, none, NULL, &y));
  TRY(op(&at, "split_heads", y, -1, integer("n_heads", 1), NULL, &y));
  TRY(weft_builder_attend_latent(b, 2, y, y, &how, &y, error));
  how.softcap = 1;
  weft_tensor_id z;
  if (weft_builder_attend_latent(b, 3, y, y, &how, &z, NULL) != WEFT_ERROR_ARGUMENT)
    return weft_error_make(WEFT_ERROR_INTERNAL, "a softcap was accepted", error);
  TRY(weft_graph_pop_scope(at.g, error));
  TRY(op(&at, "merge_heads", y, -1, none, NULL, &y));
  TRY(op(&at, "add", h, y, none, NULL, &h));
  return weft_builder_head(b, h, embeddings, result, error);
}

static void attention_has_all_kinds_of_memory(void) {
  weft_error* error = NULL;
  const weft_architecture a = {
      .struct_size = sizeof a, .name = "test_attention", .build = build_attention};
  uint64_t hash = 0;
  size_t n = 0;
  OK(weft_register_architecture(&a, &error));
  OK(weft_write_made_model("test_attention", NULL, 0, temporary("own.gguf"), &error));
  free(logits_of(temporary("own.gguf"), &hash, &n));
  CHECK(n > 0);
}

static weft_status build_nothing(void* user, weft_builder* b, weft_tensor_id* result,
                                 weft_error** out) {
  weft_error* error = NULL;
  int64_t value = 0;
  double number = 0;
  size_t n = 0;
  weft_tensor_id y = -1;
  const int64_t dims[] = {4};
  (void)result, (void)out;
  REFUSED(WEFT_ERROR_ARGUMENT, "no hyper-parameter 'Q'",
          weft_builder_get_integer(b, -1, "Q", &value, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`layer` must be from 0 to 1",
          weft_builder_get_number(b, 7, "H", &number, &error));
  REFUSED(WEFT_ERROR_CAPACITY, "room for 0", weft_builder_get_rope(b, NULL, 0, &n, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "no block is open", weft_builder_end_block(b, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`which`", weft_builder_get_input(b, 9, &y, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`q` is -1",
          weft_builder_attend(b, 0, -1, -1, -1, NULL, &y, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "unknown recurrent op 'x'",
          weft_builder_recurrent(b, "x", "s", dims, 1, NULL, 0, &y, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "input 0 is absent",
          weft_builder_recurrent(b, "token_shift", "s", dims, 1, NULL, 0, &y, &error));
  OK(weft_builder_get_graph(b, (weft_graph**)user, &error));
  weft_attend_options options;
  CHECK(weft_attend_options_init(&options, sizeof options) == WEFT_SUCCESS && options.sinks == -1);
  return WEFT_SUCCESS;
}
static weft_status build_with_error(void* user, weft_builder* b, weft_tensor_id* result,
                                    weft_error** error) {
  (void)user, (void)b, (void)result;
  return weft_error_make(WEFT_ERROR_UNSUPPORTED, "not today", error);
}

static void errors_of_builders_reach_the_caller(void) {
  weft_error* error = NULL;
  static weft_graph* last = NULL; /* of a callback that has ended */
  weft_architecture a = {
      .struct_size = sizeof a, .name = "test_nothing", .user = &last, .build = build_nothing};
  OK(weft_register_architecture(&a, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "gave no result",
          weft_write_made_model("test_nothing", NULL, 0, temporary("own.gguf"), &error));
  int32_t size = 0;
  REFUSED(WEFT_ERROR_HANDLE, "the graph was freed", weft_graph_get_size(last, &size, &error));
  a.name = "test_error", a.build = build_with_error;
  OK(weft_register_architecture(&a, &error));
  REFUSED(WEFT_ERROR_UNSUPPORTED, "not today",
          weft_write_made_model("test_error", NULL, 0, temporary("own.gguf"), &error));
  a.name = NULL;
  REFUSED(WEFT_ERROR_ARGUMENT, "`name` is NULL", weft_register_architecture(&a, &error));
  a.name = "test_none", a.build = NULL;
  REFUSED(WEFT_ERROR_ARGUMENT, "`build` is NULL", weft_register_architecture(&a, &error));
  a.name = "llama", a.build = build_nothing;
  REFUSED(WEFT_ERROR_ARGUMENT, "'llama' already exists", weft_register_architecture(&a, &error));
}

static void extensions_are_loaded_once(void) {
  weft_error* error = NULL;
  weft_text names = {NULL, 0};
  for (int i = 0; i < 2; ++i) OK(weft_load_extension(WEFT_TEST_EXTENSION, &error));
  if (OK(weft_architectures_json(&names, &error))) CHECK(strstr(names.data, "\"granit3\"") != NULL);
  weft_text_free(&names);
  REFUSED(WEFT_ERROR_IO, "cannot load an extension", weft_load_extension("/no/such", &error));
  REFUSED(WEFT_ERROR_UNSUPPORTED, "does not export weft_extension_start",
          weft_load_extension(WEFT_TEST_PLUGINS "/libskeleton.so", &error));
}

const test_case architecture_tests[] = {
    {"an architecture in C has plan and bits of the built-in one",
     an_architecture_in_c_has_plan_and_bits_of_the_built_in_one},
    {"architectures can be replaced", architectures_can_be_replaced},
    {"an architecture in C is checked as others are",
     an_architecture_in_c_is_checked_as_others_are},
    {"keys and states are those of the architecture",
     keys_and_states_are_those_of_the_architecture},
    {"attention has all kinds of memory", attention_has_all_kinds_of_memory},
    {"errors of builders reach the caller", errors_of_builders_reach_the_caller},
    {"extensions are loaded once", extensions_are_loaded_once},
    {NULL, NULL}};
