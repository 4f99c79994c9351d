#include <stdlib.h>
#include <time.h>

#include "check.h"

static const weft_token prompt[] = {1, 2, 3, 4, 5, 6, 7};

/* A copy of the last logits; the caller frees it. */
static float* logits_of(weft_session* session, size_t* n) {
  weft_error* error = NULL;
  float* logits = NULL;
  if (!OK(weft_session_get_logits(session, &logits, n, &error))) return NULL;
  float* copy = malloc(*n * sizeof *copy);
  memcpy(copy, logits, *n * sizeof *copy);
  return copy;
}

static void sequences_are_fed_cut_and_copied(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(2);
  size_t n = 0;
  int64_t length = 0;
  OK(weft_session_feed(session, 0, prompt, 7, NULL, NULL, &error));
  float* first = logits_of(session, &n);
  OK(weft_session_copy(session, 0, 1, 6, &error));
  OK(weft_session_get_length(session, 1, &length, &error));
  CHECK(length == 6);
  const weft_token* held = NULL;
  OK(weft_session_get_tokens(session, 1, &held, &n, &error));
  CHECK(n == 6 && memcmp(held, prompt, n * sizeof *held) == 0);
  OK(weft_session_feed(session, 1, prompt + 6, 1, NULL, NULL, &error));
  float* second = logits_of(session, &n);
  CHECK(memcmp(first, second, n * sizeof *first) == 0);
  free(second);
  OK(weft_session_get_resume_point(session, 0, 3, &length, &error));
  CHECK(length == 3);
  OK(weft_session_truncate(session, 0, 3, &error));
  OK(weft_session_feed(session, 0, prompt + 3, 4, NULL, NULL, &error));
  second = logits_of(session, &n);
  CHECK(memcmp(first, second, n * sizeof *first) == 0);
  free(first);
  free(second);
  REFUSED(WEFT_ERROR_ARGUMENT, "", weft_session_truncate(session, 0, 100, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "", weft_session_get_length(session, 2, &length, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "", weft_session_get_tokens(session, 2, &held, &n, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "", weft_session_copy(session, 0, -1, -1, &error));
  const weft_token wrong = 1 << 30;
  REFUSED(WEFT_ERROR_ARGUMENT, "", weft_session_feed(session, 0, &wrong, 1, NULL, NULL, &error));
  OK(weft_session_get_length(session, 0, &length, &error));
  CHECK(length == 7);
  CHECK(weft_session_free(session) == WEFT_SUCCESS);
}

static void sequences_say_how_far_other_ids_are_theirs(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(2);
  size_t n = 1;
  OK(weft_session_get_common_prefix(session, 0, prompt, 7, &n, &error));
  CHECK(n == 0);
  OK(weft_session_feed(session, 0, prompt, 6, NULL, NULL, &error));
  for (size_t given = 0; given <= 7; ++given) {
    OK(weft_session_get_common_prefix(session, 0, prompt, given, &n, &error));
    CHECK(n == (given < 6 ? given : 6));
  }
  int32_t match = 7;
  int64_t match_length = 7;
  OK(weft_session_match(session, prompt, 7, &match, &match_length, &error));
  CHECK(match == 0 && match_length == 6);
  OK(weft_session_match(session, prompt + 1, 6, &match, &match_length, &error));
  CHECK(match == -1 && match_length == 0);
  OK(weft_session_match(session, prompt, 0, &match, &match_length, &error));
  CHECK(match == -1 && match_length == 0);
  OK(weft_session_get_common_prefix(session, 0, prompt + 1, 6, &n, &error));
  CHECK(n == 0);
  REFUSED(WEFT_ERROR_ARGUMENT, "",
          weft_session_get_common_prefix(session, 2, prompt, 7, &n, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "tokens",
          weft_session_get_common_prefix(session, 0, NULL, 7, &n, &error));
  CHECK(weft_session_free(session) == WEFT_SUCCESS);
}

static void steps_give_rows_in_the_memory_of_the_session(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(2);
  const weft_step_token step[] = {
      {.token = 1}, {.token = 2, .logits = 1}, {.token = 1, .sequence = 1, .logits = 1}};
  float* rows = NULL;
  size_t n_rows = 0;
  if (OK(weft_session_step(session, step, 3, &rows, &n_rows, &error))) {
    CHECK(n_rows == 2 && rows != NULL);
    weft_session_info info = {.struct_size = sizeof info};
    OK(weft_session_get_info(session, &info, &error));
    CHECK(info.row_width > 0 && info.sequences == 2 && info.context == 256);
    CHECK(info.allocated_bytes > 0 && info.workers >= 1 && info.embeddings == 0);
    float* last = NULL;
    size_t n = 0;
    OK(weft_session_get_logits(session, &last, &n, &error));
    CHECK(last == rows + info.row_width && n == (size_t)info.row_width);
    /* Another handle keeps the rows readable. */
    weft_session* other = NULL;
    const float before = last[0];
    OK(weft_session_share(session, &other, &error));
    weft_session_free(session);
    CHECK(last[0] == before);
    int64_t length = 0;
    OK(weft_session_get_length(other, 0, &length, &error));
    CHECK(length == 2);
    session = other;
  }
  REFUSED(WEFT_ERROR_ARGUMENT, "at most",
          weft_session_step(session, step, (size_t)1 << 62, &rows, &n_rows, &error));
  REFUSED(WEFT_ERROR_UNSUPPORTED, "encoder", weft_session_encode(session, 0, prompt, 3, &error));
  weft_session_free(session);
}

static int32_t stop_at_the_first_chunk(void* user, int64_t done, int64_t total) {
  (void)total;
  *(int64_t*)user = done;
  return 1;
}

static void feeding_reports_its_progress_and_can_be_cancelled(void) {
  weft_error* error = NULL;
  weft_session* session = NULL;
  weft_session_options options;
  weft_session_options_init(&options, sizeof options);
  options.context = 64;
  options.prefill_width = 4;
  if (!OK(weft_session_open(stories(), &options, &session, &error))) return;
  int64_t done = 0, length = 0;
  REFUSED(WEFT_ERROR_CANCELLED, "",
          weft_session_feed(session, 0, prompt, 7, stop_at_the_first_chunk, &done, &error));
  OK(weft_session_get_length(session, 0, &length, &error));
  CHECK(length == 4 && done == 4);
  OK(weft_session_feed(session, 0, prompt + 4, 3, NULL, NULL, &error));
  CHECK(weft_session_cancel(session) == WEFT_SUCCESS); /* nothing runs */
  OK(weft_session_feed(session, 0, prompt, 1, NULL, NULL, &error));
  weft_session_free(session);
}

static void plans_and_pictures_describe_a_session(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(1);
  weft_text text = {NULL, 0};
  uint64_t one = 0, many = 0;
  if (OK(weft_session_json(session, &text, &error)))
    CHECK(strstr(text.data, "\"memory\"") != NULL && strstr(text.data, "\"backend\"") != NULL);
  weft_text_free(&text);
  if (OK(weft_session_plan_json(session, 1, &text, &error)))
    CHECK(strstr(text.data, "decode") != NULL);
  weft_text_free(&text);
  if (OK(weft_session_dot(session, 1, &text, &error))) CHECK(strncmp(text.data, "digraph", 7) == 0);
  weft_text_free(&text);
  OK(weft_session_get_plan_hash(session, 1, &one, &error));
  OK(weft_session_get_plan_hash(session, 100, &many, &error));
  CHECK(one != 0 && one != many);
  REFUSED(WEFT_ERROR_ARGUMENT, "`n_tokens`", weft_session_plan_json(session, 0, &text, &error));
  weft_session_free(session);
}

static void options_are_checked(void) {
  weft_error* error = NULL;
  weft_session* session = NULL;
  weft_session_options options;
  weft_session_options_init(&options, sizeof options);
  options.backend = "gpu";
  REFUSED(WEFT_ERROR_ARGUMENT, "unknown backend 'gpu'",
          weft_session_open(stories(), &options, &session, &error));
  options.backend = NULL;
  options.cache_k = "Q9";
  REFUSED(WEFT_ERROR_ARGUMENT, "got 'Q9'",
          weft_session_open(stories(), &options, &session, &error));
  options.cache_k = NULL;
  options.weights = 4;
  REFUSED(WEFT_ERROR_ARGUMENT, "weights", weft_session_open(stories(), &options, &session, &error));
  options.weights = 0;
  options.executor = "x";
  REFUSED(WEFT_ERROR_ARGUMENT, "executor",
          weft_session_open(stories(), &options, &session, &error));
  options.executor = NULL;
  options.mem_budget = 1000;
  REFUSED(WEFT_ERROR_BUDGET, "", weft_session_open(stories(), &options, &session, &error));
  options.mem_budget = 0;
  options.context = (int64_t)1 << 62;
  CHECK(weft_session_open(stories(), &options, &session, NULL) != WEFT_SUCCESS);
  CHECK(session == NULL);
}

static void scales_of_loras_are_numbered(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(1);
  const float* scales = NULL;
  const float one = 1;
  size_t n = 7;
  OK(weft_session_get_lora_scales(session, 0, &scales, &n, &error));
  CHECK(n == 0);
  OK(weft_session_set_lora_scales(session, 0, NULL, 0, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "", weft_session_set_lora_scales(session, 0, &one, 1, &error));
  weft_session_free(session);
}

/* A made mixture of experts, in a file that later calls replace. */
static weft_model* mixture(void) {
  weft_error* error = NULL;
  weft_model* model = NULL;
  const weft_value keys[] = {
      {.name = "qwen3moe.block_count", .kind = WEFT_VALUE_INTEGER, .integer = 4},
      {.name = "qwen3moe.expert_count", .kind = WEFT_VALUE_INTEGER, .integer = 16}};
  const char* path = temporary("mixture.gguf");
  remove(path);
  OK(weft_write_made_model("qwen3moe", keys, 2, path, &error));
  OK(weft_model_open(path, NULL, &model, &error));
  return model;
}

static weft_session_options streamed(void) {
  weft_session_options options;
  weft_session_options_init(&options, sizeof options);
  options.context = 64;
  options.weights = WEFT_WEIGHTS_STREAMED;
  return options;
}

/* A number in the JSON of a session; -1 if it has none of that name. */
static long long number_of(weft_session* session, const char* name) {
  weft_error* error = NULL;
  weft_text json = {NULL, 0};
  char key[64];
  snprintf(key, sizeof key, "\"%s\":", name);
  if (!OK(weft_session_json(session, &json, &error))) return -1;
  const char* found = strstr(json.data, key);
  const long long number = found == NULL ? -1 : strtoll(found + strlen(key), NULL, 10);
  weft_text_free(&json);
  return number;
}

static void streamed_weights_give_the_bits_of_mapped_ones(void) {
  weft_error* error = NULL;
  weft_model* model = mixture();
  float* logits[2] = {NULL, NULL};
  size_t n = 0;
  for (int i = 0; i < 2; ++i) {
    weft_session* session = NULL;
    weft_session_options options = streamed();
    if (i == 0) options.weights = WEFT_WEIGHTS_MAPPED;
    OK(weft_session_open(model, &options, &session, &error));
    OK(weft_session_feed(session, 0, prompt, 7, NULL, NULL, &error));
    logits[i] = logits_of(session, &n);
    if (i == 0) {
      CHECK(number_of(session, "bytes_read") == -1);
    } else {
      CHECK(number_of(session, "bytes_read") > 0);
      CHECK(number_of(session, "experts_missing") > 0);
      const long long before = number_of(session, "experts_in_memory");
      OK(weft_session_feed(session, 0, prompt, 7, NULL, NULL, &error));
      CHECK(number_of(session, "experts_in_memory") > before);
    }
    weft_session_free(session);
  }
  if (logits[0] != NULL && logits[1] != NULL)
    CHECK(memcmp(logits[0], logits[1], n * sizeof **logits) == 0);
  free(logits[0]);
  free(logits[1]);
  weft_model_free(model);
}

static int exists(const char* path) {
  FILE* file = fopen(path, "rb");
  if (file != NULL) fclose(file);
  return file != NULL;
}

/* The bytes that a new session has read after `n` tokens; without tokens, as soon as it has read
 * any, or after a while. */
static long long bytes_of_session(weft_model* model, const weft_session_options* options,
                                  size_t n) {
  weft_error* error = NULL;
  weft_session* session = NULL;
  if (!OK(weft_session_open(model, options, &session, &error))) return -1;
  if (n > 0) OK(weft_session_feed(session, 0, prompt, n, NULL, NULL, &error));
  long long bytes = number_of(session, "bytes_read");
  const int polls = options->expert_usage == NULL ? 10 : 1000; /* of 10 ms */
  for (int i = 0; i < polls && bytes == 0; ++i) {
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    bytes = number_of(session, "bytes_read");
  }
  weft_session_free(session);
  return bytes;
}

static void the_usage_of_experts_is_kept_in_a_file(void) {
  weft_model* model = mixture();
  char path[256];
  snprintf(path, sizeof path, "%s", temporary("mixture.gguf.experts"));
  weft_session_options options = streamed();
  CHECK(bytes_of_session(model, &options, 7) > 0);
  CHECK(!exists(path));
  /* An older program, whose struct ends before it. */
  options.expert_usage = path;
  options.struct_size = offsetof(weft_session_options, expert_usage);
  CHECK(bytes_of_session(model, &options, 7) > 0);
  CHECK(!exists(path));
  options.struct_size = sizeof options;
  CHECK(bytes_of_session(model, &options, 7) > 0);
  CHECK(exists(path));
  CHECK(bytes_of_session(model, &options, 0) > 0); /* it reads ahead */
  options.expert_usage = "auto";
  CHECK(bytes_of_session(model, &options, 0) > 0);
  options.expert_usage = NULL;
  CHECK(bytes_of_session(model, &options, 0) == 0);
  weft_model_free(model);
}

static void note_line(void* user, const char* line) {
  snprintf(user, 256, "%s", line);
}

static void a_usage_that_cannot_be_kept_is_logged(void) {
  weft_model* model = mixture();
  char line[256] = "";
  weft_session_options options = streamed();
  options.expert_usage = "/no/such/folder/usage";
  options.log = note_line;
  options.log_user = line;
  CHECK(bytes_of_session(model, &options, 7) > 0);
  CHECK(strstr(line, "/no/such/folder/usage") != NULL);
  weft_model_free(model);
}

const test_case session_tests[] = {
    {"sequences are fed, cut and copied", sequences_are_fed_cut_and_copied},
    {"sequences say how far other ids are theirs", sequences_say_how_far_other_ids_are_theirs},
    {"steps give rows in the memory of the session", steps_give_rows_in_the_memory_of_the_session},
    {"feeding reports its progress and can be cancelled",
     feeding_reports_its_progress_and_can_be_cancelled},
    {"plans and pictures describe a session", plans_and_pictures_describe_a_session},
    {"options are checked", options_are_checked},
    {"scales of LoRAs are numbered", scales_of_loras_are_numbered},
    {"streamed weights give the bits of mapped ones",
     streamed_weights_give_the_bits_of_mapped_ones},
    {"the usage of experts is kept in a file", the_usage_of_experts_is_kept_in_a_file},
    {"a usage that cannot be kept is logged", a_usage_that_cannot_be_kept_is_logged},
    {NULL, NULL}};
