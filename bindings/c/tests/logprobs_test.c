
#include "check.h"

static const char once[] = "Once upon a time";

static void logprobs_are_reported(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(1);
  weft_generation_options options;
  weft_generation_event event = {.struct_size = sizeof event};
  weft_generation_options_init(&options, sizeof options);
  options.n_logprobs = 3;
  weft_generation* generation = greedy(session, 0, &options);
  OK(weft_generation_begin_text(generation, once, strlen(once), &error));
  OK(weft_generation_prefill(generation, NULL, NULL, &error));
  if (OK(weft_generation_next(generation, &event, &error))) {
    CHECK(event.n_top == 3 && event.top[0].token == event.token);
    CHECK(event.logprob == event.top[0].logprob && event.logprob < 0);
    CHECK(event.top[0].logprob >= event.top[1].logprob);
  }
  weft_generation_free(generation);
  weft_session_free(session);
}

/* The first event, of a batch or of the generation itself. */
static void first_event(weft_generation* generation, weft_batch* batch) {
  weft_error* error = NULL;
  weft_generation_event event = {.struct_size = sizeof event};
  int32_t has_event = 0;
  if (!batch) OK(weft_generation_next(generation, &event, &error));
  for (int i = 0; batch && i < 9 && has_event == 0; ++i)
    OK(weft_batch_step(batch, &generation, 1, &event, &has_event, &error));
}

static void check_prompt_logprobs(weft_session* session, weft_batch* batch) {
  weft_error* error = NULL;
  weft_generation_options options;
  const weft_token_logprobs* rows = NULL;
  weft_generation_info info = {.struct_size = sizeof info};
  size_t n = 0;
  weft_generation_options_init(&options, sizeof options);
  options.n_logprobs = 2;
  options.prompt_logprobs = 1;
  weft_generation* generation = greedy(session, 0, &options);
  OK(weft_session_truncate(session, 0, 0, &error));
  OK(weft_generation_begin_text(generation, once, strlen(once), &error));
  first_event(generation, batch);
  OK(weft_generation_get_info(generation, &info, &error));
  if (OK(weft_generation_get_prompt_logprobs(generation, &rows, &n, &error))) {
    CHECK(n == (size_t)info.n_prompt - 1 && n > 0);
    for (size_t i = 0; i < n; ++i)
      CHECK(rows[i].token == info.tokens[i + 1] && rows[i].logprob <= rows[i].top[0].logprob &&
            rows[i].n_top == 2);
  }
  weft_generation_free(generation);
}

static void prompts_have_logprobs(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(1);
  weft_batch* batch = NULL;
  OK(weft_batch_open(session, &batch, &error));
  check_prompt_logprobs(session, batch);
  check_prompt_logprobs(session, NULL);
  weft_batch_free(batch);
  weft_session_free(session);
}

static void options_have_ranges(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(1);
  weft_generation* generation = NULL;
  weft_generation_options options[6];
  static const weft_token beyond = 1 << 20;
  static const char* const names[] = {"max_tokens", "min_tokens", "max_time_ms",
                                      "n_logprobs", "n_logprobs", "stop_tokens"};
  for (int i = 0; i < 6; ++i) weft_generation_options_init(&options[i], sizeof options[i]);
  options[0].max_tokens = -2;
  options[1].min_tokens = -1;
  options[2].max_time_ms = -1;
  options[3].n_logprobs = -2;
  options[4].n_logprobs = 1 << 20;
  options[5].n_stop_tokens = 1;
  options[5].stop_tokens = &beyond;
  for (int i = 0; i < 6; ++i)
    REFUSED(WEFT_ERROR_ARGUMENT, names[i],
            weft_generation_open(session, 0, &options[i], &generation, &error));
  CHECK(generation == NULL);
  weft_session_free(session);
}

const test_case logprobs_tests[] = {{"logprobs are reported", logprobs_are_reported},
                                    {"prompts have logprobs", prompts_have_logprobs},
                                    {"options have ranges", options_have_ranges},
                                    {NULL, NULL}};
