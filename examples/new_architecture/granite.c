/* Granite 3 (dense) in C: the architecture of granite.cpp, with the same graph and the same bits.
 *
 *   granite_c                   makes a tiny model and checks the builder: exit code 1 on failure
 *   granite_c MODEL.gguf 1 2 3  prints the logits of every position; without tokens, the plan's
 * hash
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weft/weft.h"

#define TRY(call)                                \
  do {                                           \
    const weft_status status_ = (call);          \
    if (status_ != WEFT_SUCCESS) return status_; \
  } while (0)
#define NUMBER(key, x) ((weft_value){.name = (key), .kind = WEFT_VALUE_NUMBER, .number = (x)})
#define INTEGER(key, x) ((weft_value){.name = (key), .kind = WEFT_VALUE_INTEGER, .integer = (x)})
#define TEXT(key, x) ((weft_value){.name = (key), .kind = WEFT_VALUE_TEXT, .text = (x)})

static weft_status configure(void* user, weft_config* c, weft_error** error) {
  (void)user;
  int32_t has_rope = 0;
  TRY(weft_config_flag(c, "rope.scaling.finetuned", 1, &has_rope, error));
  if (!has_rope)
    return weft_error_make(WEFT_ERROR_UNSUPPORTED, "models without rope are not supported", error);
  TRY(weft_config_number(c, "embedding_scale", 1e-6, 1e6, 1, NULL, error));
  TRY(weft_config_number(c, "residual_scale", 1e-6, 1e6, 1, NULL, error));
  TRY(weft_config_number(c, "attention.scale", 1e-6, 1e6, 0, NULL, error)); /* 0: 1 / sqrt(E) */
  return weft_config_number(c, "logit_scale", 1e-6, 1e6, 1, NULL, error);
}

/* What every function needs. */
typedef struct build {
  weft_builder* b;
  weft_graph* g;
  weft_error** error;
} build;

/* y = OP(inputs), named `name` unless that is NULL. */
static weft_status op(build at, const char* op_name, weft_tensor_id x, weft_tensor_id z,
                      weft_value value, const char* name, weft_tensor_id* y) {
  const weft_tensor_id in[] = {x, z};
  TRY(weft_graph_op(at.g, op_name, in, z < 0 ? 1 : 2, &value, value.name != NULL, y, at.error));
  return name ? weft_graph_set_name(at.g, *y, name, at.error) : WEFT_SUCCESS;
}
static const weft_value none;

static weft_status integer(build at, const char* name, int64_t* value) {
  return weft_builder_get_integer(at.b, -1, name, value, at.error);
}

static weft_status attention(build at, int64_t layer, weft_tensor_id x, weft_tensor_id angles,
                             weft_tensor_id* y) {
  int64_t D, H, G, E, Ev;
  weft_tensor_id q, k, v;
  weft_attend_options how;
  TRY(integer(at, "D", &D));
  TRY(integer(at, "H", &H));
  TRY(integer(at, "G", &G));
  TRY(integer(at, "E", &E));
  TRY(integer(at, "Ev", &Ev));
  TRY(weft_builder_project(at.b, "attn_q", H * E, D, x, &q, at.error));
  TRY(weft_builder_project(at.b, "attn_k", G * E, D, x, &k, at.error));
  TRY(weft_builder_project(at.b, "attn_v", G * Ev, D, x, &v, at.error));
  TRY(op(at, "split_heads", q, -1, INTEGER("n_heads", H), NULL, &q));
  TRY(op(at, "split_heads", k, -1, INTEGER("n_heads", G), NULL, &k));
  TRY(op(at, "split_heads", v, -1, INTEGER("n_heads", G), NULL, &v));
  TRY(op(at, "rope", q, angles, TEXT("pairs", "adjacent"), "attn_q_rope", &q));
  TRY(op(at, "rope", k, angles, TEXT("pairs", "adjacent"), "attn_k_rope", &k));
  TRY(weft_attend_options_init(&how, sizeof how));
  TRY(weft_builder_get_number(at.b, -1, "attention.scale", &how.scale, at.error));
  TRY(weft_builder_attend(at.b, layer, q, k, v, &how, y, at.error));
  TRY(op(at, "merge_heads", *y, -1, none, "attn_merged", y));
  return weft_builder_project(at.b, "attn_output", D, H * Ev, *y, y, at.error);
}

static weft_status feed_forward(build at, weft_tensor_id x, weft_tensor_id* y) {
  int64_t D, F;
  weft_tensor_id gate, up;
  TRY(integer(at, "D", &D));
  TRY(integer(at, "F", &F));
  TRY(weft_builder_project(at.b, "ffn_gate", F, D, x, &gate, at.error));
  TRY(weft_builder_project(at.b, "ffn_up", F, D, x, &up, at.error));
  TRY(op(at, "silu", gate, -1, none, NULL, &gate));
  TRY(op(at, "mul", gate, up, none, "ffn_act", y));
  return weft_builder_project(at.b, "ffn_down", D, F, *y, y, at.error);
}

/* h += scale * y */
static weft_status add(build at, weft_tensor_id* h, weft_tensor_id y, const char* name) {
  double scale;
  TRY(weft_builder_get_number(at.b, -1, "residual_scale", &scale, at.error));
  TRY(op(at, "scale", y, -1, NUMBER("factor", scale), NULL, &y));
  return op(at, "add", *h, y, none, name, h);
}

static weft_status layer(build at, int64_t i, weft_tensor_id angles, weft_tensor_id* h) {
  weft_tensor_id x, y;
  TRY(weft_builder_begin_block(at.b, i, at.error));
  TRY(weft_builder_norm(at.b, "attn_norm", *h, &x, at.error));
  TRY(attention(at, i, x, angles, &y));
  TRY(add(at, h, y, "attn_residual"));
  TRY(weft_builder_norm(at.b, "ffn_norm", *h, &x, at.error));
  TRY(feed_forward(at, x, &y));
  TRY(add(at, h, y, "ffn_residual"));
  return weft_builder_end_block(at.b, at.error);
}

static weft_status rope_angles(build at, weft_tensor_id* angles) {
  weft_value values[16];
  size_t n;
  weft_tensor_id in[2];
  TRY(weft_builder_get_rope(at.b, values, 16, &n, at.error));
  TRY(weft_builder_get_input(at.b, WEFT_INPUT_POSITIONS, &in[0], at.error));
  TRY(weft_builder_rope_factors(at.b, &in[1], at.error));
  return weft_graph_op(at.g, "rope_angles", in, 2, values, n, angles, at.error);
}

static weft_status build_granite(void* user, weft_builder* b, weft_tensor_id* result,
                                 weft_error** error) {
  (void)user;
  build at = {b, NULL, error};
  int64_t V, D, L;
  int32_t embeddings;
  double embedding_scale, logit_scale;
  weft_tensor_id embd, angles, tokens, h;
  TRY(weft_builder_get_graph(b, &at.g, error));
  TRY(integer(at, "V", &V));
  TRY(integer(at, "D", &D));
  TRY(integer(at, "L", &L));
  const int64_t shape[] = {V, D};
  TRY(weft_builder_weight(b, "token_embd.weight", shape, 2, 0, &embd, error));
  TRY(rope_angles(at, &angles));
  TRY(weft_builder_get_input(b, WEFT_INPUT_TOKENS, &tokens, error));
  TRY(weft_builder_get_number(b, -1, "embedding_scale", &embedding_scale, error));
  TRY(op(at, "get_rows", embd, tokens, none, NULL, &h));
  TRY(op(at, "scale", h, -1, NUMBER("factor", embedding_scale), NULL, &h));
  for (int64_t i = 0; i < L; ++i) TRY(layer(at, i, angles, &h));
  TRY(weft_builder_head(b, h, embd, result, error));
  TRY(weft_builder_wants_embeddings(b, &embeddings, error));
  if (embeddings) return WEFT_SUCCESS;
  TRY(weft_builder_get_number(b, -1, "logit_scale", &logit_scale, error));
  return op(at, "scale", *result, -1, NUMBER("factor", 1 / (float)logit_scale), NULL, result);
}

static weft_status check_builder(int* failed, weft_error** error) {
  const weft_value keys[] = {
      NUMBER("granit3.embedding_scale", 12), NUMBER("granit3.residual_scale", 0.22),
      NUMBER("granit3.attention.scale", 0.3), NUMBER("granit3.logit_scale", 4)};
  int32_t passed = 0;
  weft_text report;
  TRY(weft_check_new_model_json("granit3", keys, 4, GRANITE_SNAPSHOT, NULL, &passed, &report,
                                error));
  puts(report.data);
  weft_text_free(&report);
  *failed = !passed;
  return WEFT_SUCCESS;
}

static weft_status run(int argc, char** argv, weft_error** error) {
  weft_model* model = NULL;
  weft_session* session = NULL;
  weft_session_options options;
  TRY(weft_session_options_init(&options, sizeof options));
  options.cache_k = options.cache_v = "F32";
  TRY(weft_model_open(argv[1], NULL, &model, error));
  TRY(weft_session_open(model, &options, &session, error));
  if (argc == 2) {
    uint64_t hash;
    TRY(weft_session_get_plan_hash(session, 1, &hash, error));
    printf("%016" PRIx64 "\n", hash);
  }
  for (int i = 2; i < argc; ++i) {
    const weft_token token = atoi(argv[i]);
    float* logits;
    size_t n;
    TRY(weft_session_feed(session, 0, &token, 1, NULL, NULL, error));
    TRY(weft_session_get_logits(session, &logits, &n, error));
    for (size_t j = 0; j < n; ++j) printf("%.9g ", (double)logits[j]);
    putchar('\n');
  }
  weft_session_free(session);
  return weft_model_free(model);
}

/* Called by this program, and by others that load it: generate --extension libgranite.so -m MODEL
 */
weft_status weft_extension_start(uint32_t api_version, weft_error** error) {
  if (api_version / 1000 != WEFT_API_VERSION_MAJOR)
    return weft_error_make(WEFT_ERROR_UNSUPPORTED, "needs another version of Weft", error);
  const weft_architecture granite = {.struct_size = sizeof granite,
                                     .name = "granit3",
                                     .configure = configure,
                                     .build = build_granite};
  return weft_register_architecture(&granite, error);
}

int main(int argc, char** argv) {
  weft_error* error = NULL;
  int failed = 0;
  weft_status status = weft_extension_start(weft_api_version(), &error);
  if (status == WEFT_SUCCESS)
    status = argc < 2 ? check_builder(&failed, &error) : run(argc, argv, &error);
  if (status != WEFT_SUCCESS) fprintf(stderr, "granite_c: %s\n", weft_error_message(error));
  weft_error_free(error);
  return status != WEFT_SUCCESS || failed;
}
