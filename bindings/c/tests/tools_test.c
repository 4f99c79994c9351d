/* The library and the machine; descriptions, checks and measurements of models. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"

/* Whether the text contains the part; prints it if not. */
static int has(const weft_text* text, const char* part) {
  if (text->data != NULL && strstr(text->data, part) != NULL) return 1;
  fprintf(stderr, "  no '%s' in: %.300s\n", part, text->data == NULL ? "" : text->data);
  return 0;
}

static weft_session_options one_worker(void) {
  weft_session_options options;
  weft_session_options_init(&options, sizeof options);
  options.context = 64;
  options.prefill_width = 16;
  options.workers = 1;
  return options;
}

static weft_model* open_vocabulary(void) {
  weft_error* error = NULL;
  weft_model* model = NULL;
  weft_model_options options;
  weft_model_options_init(&options, sizeof options);
  options.vocabulary_only = 1;
  OK(weft_model_open(model_path(), &options, &model, &error));
  return model;
}

static void the_library_describes_itself_and_the_machine(void) {
  weft_error* error = NULL;
  weft_text json = {NULL, 0};
  if (!OK(weft_about_json(&json, &error))) return;
  CHECK(has(&json, "\"version\":\""));
  CHECK(has(&json, "\"api_version\":1001"));
  CHECK(has(&json, "\"processor\":\""));
  CHECK(has(&json, "\"instruction_sets\":["));
  CHECK(has(&json, "\"default_workers\":"));
  CHECK(has(&json, "\"default_budget\":"));
  CHECK(has(&json, "\"name\":\"cpu\""));
  CHECK(has(&json, "\"name\":\"reference\""));
  CHECK(has(&json, "\"Q4_K\""));
  weft_text_free(&json);
  REFUSED(WEFT_ERROR_ARGUMENT, "the result", weft_about_json(NULL, &error));
  if (OK(weft_architectures_json(&json, &error))) {
    CHECK(json.data[0] == '[');
    CHECK(has(&json, "\"llama\""));
    weft_text_free(&json);
  }
}

static void mappings_can_be_guarded(void) {
  weft_error* error = NULL;
  OK(weft_guard_mappings(&error));
  OK(weft_guard_mappings(&error));
}

static void backends_are_loaded(void) {
  weft_error* error = NULL;
  weft_text json = {NULL, 0};
  for (int i = 0; i < 2; ++i) OK(weft_load_backend(WEFT_TEST_PLUGINS "/libskeleton.so", &error));
  if (OK(weft_about_json(&json, &error))) {
    CHECK(has(&json, "\"name\":\"skeleton\""));
    CHECK(has(&json, "/libskeleton.so\""));
    weft_text_free(&json);
  }
  weft_session_options options = one_worker();
  options.backend = "skeleton";
  if (OK(weft_plan_json(stories(), &options, &json, &error))) {
    CHECK(has(&json, "\"backend\": \"skeleton\""));
    weft_text_free(&json);
  }
}

static void backends_that_cannot_be_loaded_are_refused(void) {
  weft_error* error = NULL;
  REFUSED(WEFT_ERROR_ARGUMENT, "`path` is NULL", weft_load_backend(NULL, &error));
  REFUSED(WEFT_ERROR_IO, "/no/such/backend.so", weft_load_backend("/no/such/backend.so", &error));
  REFUSED(WEFT_ERROR_UNSUPPORTED, model_path(), weft_load_backend(model_path(), &error));
  REFUSED(WEFT_ERROR_IO, "", weft_load_backend("", &error));
}

static void keys_of_models_are_written(void) {
  weft_error* error = NULL;
  weft_text json = {NULL, 0};
  if (OK(weft_model_metadata_json(stories(), 10, &json, &error))) {
    CHECK(has(&json, "{\"general.architecture\": \"llama\", "));
    CHECK(has(&json, "\"general.languages\": [\"en\"]"));
    CHECK(has(&json, "\"llama.rope.freq_base\": 10000"));
    CHECK(has(&json, "\"tokenizer.ggml.add_bos_token\": true"));
    CHECK(has(&json, "\"tokenizer.ggml.tokens\": {\"length\": 2048}"));
    weft_text_free(&json);
  }
  if (OK(weft_model_metadata_json(stories(), (size_t)1 << 63, &json, &error))) {
    CHECK(has(&json, "\"tokenizer.ggml.tokens\": [\"<|endoftext|>\", "));
    weft_text_free(&json);
  }
  weft_model* model = NULL;
  weft_model_options options;
  weft_model_options_init(&options, sizeof options);
  options.overrides = "general.name=str:another";
  if (OK(weft_model_open(model_path(), &options, &model, &error)) &&
      OK(weft_model_metadata_json(model, 0, &json, &error))) {
    CHECK(has(&json, "\"general.name\": \"another\""));
    CHECK(has(&json, "\"general.languages\": {\"length\": 1}"));
    weft_text_free(&json);
  }
  weft_model_free(model);
  REFUSED(WEFT_ERROR_HANDLE, "the model was freed",
          weft_model_metadata_json(model, 0, &json, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "the result", weft_model_metadata_json(stories(), 0, NULL, &error));
}

static void files_are_inspected(void) {
  weft_error* error = NULL;
  weft_text json = {NULL, 0};
  if (OK(weft_inspect_json(model_path(), &json, &error))) {
    CHECK(has(&json, "\"version\": 3"));
    CHECK(has(&json, "\"general.architecture\": {\"type\": \"string\", \"value\": \"llama\"}"));
    CHECK(
        has(&json, "{\"name\": \"token_embd.weight\", \"type\": \"Q8_0\", \"shape\": [2048, 256]"));
    CHECK(has(&json, "\"totals\": {\"tensors\": 38"));
    weft_text_free(&json);
  }
  REFUSED(WEFT_ERROR_ARGUMENT, "`path` is NULL", weft_inspect_json(NULL, &json, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`json` is NULL", weft_inspect_json(model_path(), NULL, &error));
  REFUSED(WEFT_ERROR_IO, "/no/such/file", weft_inspect_json("/no/such/file", &json, &error));
  REFUSED(WEFT_ERROR_IO, "/", weft_inspect_json("/", &json, &error));
  REFUSED(WEFT_ERROR_FORMAT, "/etc/passwd", weft_inspect_json("/etc/passwd", &json, &error));
}

static void plans_are_made_without_a_session(void) {
  weft_error* error = NULL;
  weft_text json = {NULL, 0};
  weft_session_options options = one_worker();
  options.sequences = 3;
  if (OK(weft_plan_json(stories(), &options, &json, &error))) {
    CHECK(has(&json, "\"architecture\": \"llama\""));
    CHECK(has(&json, "\"slots\": 3"));
    CHECK(has(&json, "\"memory_lines\": ["));
    CHECK(has(&json, "\"critical_path_ns\": "));
    weft_text_free(&json);
  }
  if (OK(weft_plan_json(stories(), NULL, &json, &error))) weft_text_free(&json);
  options.backend = "abacus";
  REFUSED(WEFT_ERROR_ARGUMENT, "abacus", weft_plan_json(stories(), &options, &json, &error));
  options.backend = NULL;
  options.mem_budget = 1;
  REFUSED(WEFT_ERROR_BUDGET, "", weft_plan_json(stories(), &options, &json, &error));
  options.mem_budget = 0;
  options.context = INT64_MAX;
  CHECK(weft_plan_json(stories(), &options, &json, NULL) != WEFT_SUCCESS);
  options.context = INT64_MIN;
  REFUSED(WEFT_ERROR_ARGUMENT, "context", weft_plan_json(stories(), &options, &json, &error));
  REFUSED(WEFT_ERROR_HANDLE, "is NULL", weft_plan_json(NULL, NULL, &json, &error));
  weft_model* vocabulary = open_vocabulary();
  REFUSED(WEFT_ERROR_UNSUPPORTED, "only the vocabulary",
          weft_plan_json(vocabulary, NULL, &json, &error));
  REFUSED(WEFT_ERROR_UNSUPPORTED, "only the vocabulary",
          weft_bench_json(vocabulary, NULL, NULL, &json, &error));
  weft_model_free(vocabulary);
}

static int cancel(void* user, double share) {
  ++*(int*)user;
  (void)share;
  return 1;
}

static void nodes_are_verified(void) {
  weft_error* error = NULL;
  weft_text json = {NULL, 0};
  int32_t passed = 0;
  weft_session_options options = one_worker();
  const weft_token tokens[] = {1, 2, 3, 4};
  if (OK(weft_verify_json(stories(), &options, tokens, 4, NULL, &passed, &json, &error))) {
    CHECK(passed == 1);
    CHECK(has(&json, "\"plan\""));
    CHECK(has(&json, "\"worst_ratio\""));
    weft_text_free(&json);
  }
  passed = 0;
  if (OK(weft_verify_json(stories(), &options, NULL, 0, NULL, &passed, &json, &error))) {
    CHECK(passed == 1);
    CHECK(has(&json, "64"));
    weft_text_free(&json);
  }
  const weft_token unknown = 1 << 30;
  passed = 7;
  CHECK(weft_verify_json(stories(), &options, &unknown, 1, NULL, &passed, &json, NULL) ==
        WEFT_ERROR_ARGUMENT);
  CHECK(passed == 7);
  REFUSED(WEFT_ERROR_ARGUMENT, "`tokens` is NULL",
          weft_verify_json(stories(), &options, NULL, 3, NULL, &passed, &json, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "no array",
          weft_verify_json(stories(), NULL, tokens, (size_t)1 << 63, NULL, &passed, &json, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`passed` is NULL",
          weft_verify_json(stories(), NULL, tokens, 1, NULL, NULL, &json, &error));
  REFUSED(WEFT_ERROR_HANDLE, "is NULL",
          weft_verify_json(NULL, NULL, tokens, 1, NULL, &passed, &json, &error));
}

static void models_are_tested_against_themselves(void) {
  weft_error* error = NULL;
  weft_text json = {NULL, 0};
  int32_t passed = 0;
  int calls = 0;
  weft_session_options options = one_worker();
  if (OK(weft_selftest_json(stories(), &options, NULL, &passed, &json, &error))) {
    CHECK(passed == 1);
    CHECK(has(&json, "prefill = decode"));
    CHECK(has(&json, "tokenizer"));
    weft_text_free(&json);
  }
  options.progress = cancel;
  options.progress_user = &calls;
  REFUSED(WEFT_ERROR_CANCELLED, "cancelled",
          weft_selftest_json(stories(), &options, NULL, &passed, &json, &error));
  CHECK(calls == 1);
  options.progress = NULL;
  options.backend = "abacus";
  REFUSED(WEFT_ERROR_ARGUMENT, "abacus",
          weft_selftest_json(stories(), &options, NULL, &passed, &json, &error));
  REFUSED(WEFT_ERROR_HANDLE, "", weft_selftest_json(NULL, NULL, NULL, &passed, &json, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`json` is NULL",
          weft_selftest_json(stories(), NULL, NULL, &passed, NULL, &error));
}

static void architectures_are_checked(void) {
  weft_error* error = NULL;
  weft_text json = {NULL, 0};
  int32_t passed = 0;
  char snapshot[256];
  snprintf(snapshot, sizeof snapshot, "%s", temporary("llama.dot"));
  const weft_value theta = {
      .name = "llama.rope.freq_base", .kind = WEFT_VALUE_NUMBER, .number = 500000};
  for (int round = 0; round < 2; ++round) {
    if (!OK(weft_check_new_model_json("llama", &theta, 1, snapshot, NULL, &passed, &json, &error)))
      return;
    CHECK(passed == 1);
    CHECK(has(&json, round == 0 ? "written to " : "snapshot"));
    weft_text_free(&json);
  }
  REFUSED(WEFT_ERROR_UNSUPPORTED, "lama3",
          weft_check_new_model_json("lama3", NULL, 0, NULL, NULL, &passed, &json, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`architecture` is NULL",
          weft_check_new_model_json(NULL, NULL, 0, NULL, NULL, &passed, &json, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`keys` is NULL",
          weft_check_new_model_json("llama", NULL, 1, NULL, NULL, &passed, &json, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "no array",
          weft_check_new_model_json("llama", &theta, (size_t)1 << 63, NULL, NULL, &passed, &json,
                                    &error));
}

static void speed_is_measured(void) {
  weft_error* error = NULL;
  weft_text json = {NULL, 0};
  weft_session_options session = one_worker();
  weft_bench_options options;
  CHECK(weft_bench_options_init(&options, sizeof options) == WEFT_SUCCESS);
  CHECK(options.repeats == 5 && options.prompt_tokens == 512 && options.generated_tokens == 64);
  CHECK(weft_bench_options_init(NULL, sizeof options) == WEFT_ERROR_ARGUMENT);
  options.repeats = 2;
  options.prompt_tokens = 20;
  options.generated_tokens = 3;
  options.depth = 4;
  options.session = &session;
  if (OK(weft_bench_json(stories(), &options, NULL, &json, &error))) {
    CHECK(has(&json, "\"phase\": \"prefill\""));
    CHECK(has(&json, "\"phase\": \"decode\""));
    CHECK(has(&json, "\"rates\": ["));
    CHECK(has(&json, "\"bytes_per_token\": "));
    CHECK(has(&json, "\"logits_hash\": \""));
    weft_text_free(&json);
  }
}

static void measurements_that_make_no_sense_are_refused(void) {
  weft_error* error = NULL;
  weft_text json = {NULL, 0};
  weft_session_options session = one_worker();
  weft_bench_options options;
  weft_bench_options_init(&options, sizeof options);
  options.prompt_tokens = 20;
  options.session = &session;
  options.depth = 62;
  REFUSED(WEFT_ERROR_ARGUMENT, "126 tokens do not fit a context of 64",
          weft_bench_json(stories(), &options, NULL, &json, &error));
  options.depth = INT64_MAX;
  REFUSED(WEFT_ERROR_ARGUMENT, "`depth`",
          weft_bench_json(stories(), &options, NULL, &json, &error));
  options.depth = 0;
  options.repeats = 0;
  REFUSED(WEFT_ERROR_ARGUMENT, "`repeats`",
          weft_bench_json(stories(), &options, NULL, &json, &error));
  options.repeats = 1;
  options.prompt_tokens = options.generated_tokens = 0;
  REFUSED(WEFT_ERROR_ARGUMENT, "nothing to measure",
          weft_bench_json(stories(), &options, NULL, &json, &error));
  options.prompt_tokens = (int64_t)1 << 32;
  options.session = NULL;
  CHECK(weft_bench_json(stories(), &options, NULL, &json, NULL) != WEFT_SUCCESS);
  options.struct_size = 0;
  REFUSED(WEFT_ERROR_ARGUMENT, "weft_bench_options: struct_size is 0",
          weft_bench_json(stories(), &options, NULL, &json, &error));
  REFUSED(WEFT_ERROR_HANDLE, "", weft_bench_json(NULL, NULL, NULL, &json, &error));
}

static void limits_of_the_machine_are_measured(void) {
  weft_error* error = NULL;
  weft_text json = {NULL, 0};
  /* Too few bytes to measure memory, which takes a second. */
  if (OK(weft_limits_json(1, 1, NULL, &json, &error))) {
    CHECK(has(&json, "\"threads\":1"));
    CHECK(has(&json, "\"reads\":{\"bytes_per_second\":0.0"));
    CHECK(has(&json, "\"int8\":{\"multiply_adds_per_second\":"));
    weft_text_free(&json);
  }
  REFUSED(WEFT_ERROR_ARGUMENT, "`workers`", weft_limits_json(-1, 1, NULL, &json, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`workers`", weft_limits_json(INT32_MAX, 1, NULL, &json, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`max_bytes`", weft_limits_json(1, INT64_MIN, NULL, &json, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`json` is NULL", weft_limits_json(1, 1, NULL, NULL, &error));
}

/* All calls that take a canceller; *canceller is cancelled, or will be. */
static void expect_cancelled(weft_canceller* canceller) {
  weft_error* error = NULL;
  weft_text json = {NULL, 0};
  int32_t passed = 7;
  weft_session_options options = one_worker();
  weft_bench_options bench;
  weft_bench_options_init(&bench, sizeof bench);
  bench.repeats = 1000;
  const weft_status wanted = WEFT_ERROR_CANCELLED;
  REFUSED(wanted, "", weft_bench_json(stories(), &bench, canceller, &json, &error));
  REFUSED(wanted, "",
          weft_verify_json(stories(), &options, NULL, 0, canceller, &passed, &json, &error));
  REFUSED(wanted, "", weft_selftest_json(stories(), &options, canceller, &passed, &json, &error));
  REFUSED(wanted, "",
          weft_check_new_model_json("llama", NULL, 0, NULL, canceller, &passed, &json, &error));
  REFUSED(wanted, "", weft_limits_json(1, 0, canceller, &json, &error));
  CHECK(passed == 7 && json.data == NULL);
}
static void* cancel_soon(void* user) {
  const struct timespec time = {0, 20000000};
  nanosleep(&time, NULL);
  CHECK(weft_canceller_cancel((weft_canceller*)user) == WEFT_SUCCESS);
  return NULL;
}

static void calls_can_be_cancelled(void) {
  weft_error* error = NULL;
  weft_canceller* canceller = NULL;
  pthread_t thread;
  OK(weft_canceller_open(&canceller, &error));
  pthread_create(&thread, NULL, cancel_soon, canceller);
  expect_cancelled(canceller); /* the first call while it runs, the others at once */
  pthread_join(thread, NULL);
  CHECK(weft_canceller_free(canceller) == WEFT_SUCCESS);
  CHECK(weft_canceller_cancel(canceller) == WEFT_ERROR_HANDLE);
  weft_text json = {NULL, 0};
  REFUSED(WEFT_ERROR_HANDLE, "canceller", weft_limits_json(1, 1, canceller, &json, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`canceller` is NULL", weft_canceller_open(NULL, &error));
}

const test_case tools_tests[] = {
    {"calls can be cancelled", calls_can_be_cancelled},
    {"the library describes itself and the machine", the_library_describes_itself_and_the_machine},
    {"mappings can be guarded", mappings_can_be_guarded},
    {"backends are loaded", backends_are_loaded},
    {"backends that cannot be loaded are refused", backends_that_cannot_be_loaded_are_refused},
    {"keys of models are written", keys_of_models_are_written},
    {"files are inspected", files_are_inspected},
    {"plans are made without a session", plans_are_made_without_a_session},
    {"nodes are verified", nodes_are_verified},
    {"models are tested against themselves", models_are_tested_against_themselves},
    {"architectures are checked", architectures_are_checked},
    {"speed is measured", speed_is_measured},
    {"measurements that make no sense are refused", measurements_that_make_no_sense_are_refused},
    {"limits of the machine are measured", limits_of_the_machine_are_measured},
    {NULL, NULL}};
