/* Texts that go on when the context is full. The context of these tests has 256 tokens. */
#include <string.h>

#include "check.h"

static const char once[] = "Once upon a time";
enum { WANTED = 400, CONTEXT = 256 };

/* Writes up to WANTED tokens in sequence 0, and frees the text. */
static weft_generation_info write_text(weft_session* session, const char* context_end, int* stop) {
  weft_error* error = NULL;
  weft_generation_options options;
  weft_generation_options_init(&options, sizeof options);
  options.max_tokens = WANTED;
  options.ignore_eos = 1;
  options.context_end = context_end;
  weft_generation* generation = greedy(session, 0, &options);
  weft_generation_info info = {.struct_size = sizeof info};
  weft_generation_event event = {.struct_size = sizeof event};
  OK(weft_generation_begin_text(generation, once, strlen(once), &error));
  while (event.stop == WEFT_STOP_NONE && OK(weft_generation_next(generation, &event, &error)))
    continue;
  *stop = event.stop;
  OK(weft_generation_get_info(generation, &info, &error));
  weft_generation_free(generation);
  info.tokens = NULL;
  return info;
}

static int64_t length_of(weft_session* session) {
  weft_error* error = NULL;
  int64_t length = -1;
  OK(weft_session_get_length(session, 0, &length, &error));
  return length;
}

static void texts_go_on_as_the_options_say(void) {
  static const char* const ends[] = {"shift", "window", "evict"};
  weft_session* session = new_session(1);
  int stop = 0;
  weft_generation_info info = write_text(session, NULL, &stop);
  CHECK(stop == WEFT_STOP_CONTEXT_FULL && info.n_dropped == 0 && info.n_new < CONTEXT);
  const int64_t n_new = info.n_new;
  for (size_t i = 0; i < sizeof ends / sizeof *ends; ++i) {
    info = write_text(session, ends[i], &stop);
    CHECK(stop == WEFT_STOP_MAX_TOKENS && info.n_new == WANTED && info.n_dropped > 0);
    CHECK(info.n_tokens <= CONTEXT);
    /* What is not exact is gone with the generation; the first 4 tokens were kept. */
    CHECK(length_of(session) >= 4 && length_of(session) <= info.n_prompt);
    info = write_text(session, "stop", &stop);
    CHECK(stop == WEFT_STOP_CONTEXT_FULL && info.n_dropped == 0 && info.n_new == n_new);
  }
  weft_session_free(session);
}

static void wrong_options_are_refused(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(1);
  weft_generation* generation = NULL;
  weft_generation_options options;
  weft_generation_options_init(&options, sizeof options);
  CHECK(options.keep == 4 && options.context_end == NULL);
  options.context_end = "roll";
  REFUSED(WEFT_ERROR_ARGUMENT, "stop, shift, window, evict",
          weft_generation_open(session, 0, &options, &generation, &error));
  options.context_end = "shift";
  options.keep = -2;
  REFUSED(WEFT_ERROR_ARGUMENT, "keep",
          weft_generation_open(session, 0, &options, &generation, &error));
  options.keep = CONTEXT;
  REFUSED(WEFT_ERROR_ARGUMENT, "too few to keep 256",
          weft_generation_open(session, 0, &options, &generation, &error));
  weft_session_free(session);
}

const test_case context_end_tests[] = {
    {"texts go on as the options say", texts_go_on_as_the_options_say},
    {"wrong options are refused", wrong_options_are_refused},
    {NULL, NULL}};
