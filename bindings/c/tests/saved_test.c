#include "check.h"

static const weft_token prompt[] = {1, 2, 3, 4, 5};

static void sequences_are_saved_and_restored(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(2);
  weft_saved* saved = NULL;
  weft_text bytes = {NULL, 0};
  float* logits = NULL;
  const weft_token* tokens = NULL;
  const char* note = NULL;
  size_t n = 0;
  OK(weft_session_feed(session, 0, prompt, 5, NULL, NULL, &error));
  OK(weft_session_get_logits(session, &logits, &n, &error));
  const float before = logits[7];
  if (!OK(weft_session_save(session, 0, prompt, 5, "a note", 6, &bytes, &error))) return;
  if (OK(weft_saved_open_memory(bytes.data, bytes.size, &saved, &error))) {
    OK(weft_saved_get_tokens(saved, &tokens, &n, &error));
    CHECK(n == 5 && memcmp(tokens, prompt, sizeof prompt) == 0);
    OK(weft_saved_get_note(saved, &note, &n, &error));
    CHECK(n == 6 && memcmp(note, "a note", 6) == 0);
    OK(weft_saved_restore(saved, session, 1, 4, &error));
    OK(weft_session_feed(session, 1, prompt + 4, 1, NULL, NULL, &error));
    OK(weft_session_get_logits(session, &logits, &n, &error));
    CHECK(logits[7] == before);
    weft_saved_free(saved);
  }
  bytes.data[bytes.size / 2] ^= 1;
  REFUSED(WEFT_ERROR_FORMAT, "damaged",
          weft_saved_open_memory(bytes.data, bytes.size, &saved, &error));
  REFUSED(WEFT_ERROR_UNSUPPORTED, "not a saved sequence",
          weft_saved_open_memory("x", 1, &saved, &error));
  weft_text_free(&bytes);
  weft_session_free(session);
}

static void files_hold_sequences(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(2);
  weft_saved* saved = NULL;
  weft_text bytes = {NULL, 0};
  int64_t point = 0;
  OK(weft_session_feed(session, 0, prompt, 5, NULL, NULL, &error));
  OK(weft_session_save_file(session, 0, prompt, 5, NULL, 0, temporary("saved"), &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "has 5 tokens",
          weft_session_save(session, 0, prompt, 4, NULL, 0, &bytes, &error));
  if (OK(weft_saved_open(temporary("saved"), &saved, &error))) {
    OK(weft_saved_restore(saved, session, 1, -1, &error));
    OK(weft_saved_get_resume_point(saved, session, 4, &point, &error));
    CHECK(point == 4);
    REFUSED(WEFT_ERROR_ARGUMENT, "`n_tokens`",
            weft_saved_get_resume_point(saved, session, 6, &point, &error));
    CHECK(weft_saved_restore(saved, session, 1, 99, NULL) != WEFT_SUCCESS);
    CHECK(weft_saved_restore(saved, session, 9, -1, NULL) == WEFT_ERROR_ARGUMENT);
    weft_saved_free(saved);
  }
  REFUSED(WEFT_ERROR_IO, "", weft_saved_open("/no/such/file", &saved, &error));
  weft_session_free(session);
}

static void sequences_of_other_computations_are_refused(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(1);
  weft_session* other = NULL;
  weft_saved* saved = NULL;
  weft_session_options options;
  weft_session_options_init(&options, sizeof options);
  options.context = 64;
  options.cache_k = options.cache_v = "F32";
  OK(weft_session_open(stories(), &options, &other, &error));
  OK(weft_session_feed(session, 0, prompt, 5, NULL, NULL, &error));
  OK(weft_session_save_file(session, 0, prompt, 5, NULL, 0, temporary("saved"), &error));
  OK(weft_saved_open(temporary("saved"), &saved, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "", weft_saved_restore(saved, other, 0, -1, &error));
  int64_t point = 0;
  REFUSED(WEFT_ERROR_ARGUMENT, "", weft_saved_get_resume_point(saved, other, 5, &point, &error));
  weft_saved_free(saved);
  weft_session_free(session);
  weft_session_free(other);
}

static void go_on(weft_generation* generation, weft_generation_info* info) {
  weft_error* error = NULL;
  weft_generation_event event = {.struct_size = sizeof event};
  while (info->n_new < 40) {
    OK(weft_generation_next(generation, &event, &error));
    CHECK(event.stop == WEFT_STOP_NONE);
    if (event.stop != WEFT_STOP_NONE) return;
    OK(weft_generation_get_info(generation, info, &error));
  }
}

/* How many tokens a saved sequence has, of which these are the first ones. */
static int64_t saved_of(weft_session* session, const weft_generation_info* info, int in_file) {
  weft_error* error = NULL;
  weft_text bytes = {NULL, 0};
  weft_saved* saved = NULL;
  const weft_token* tokens = NULL;
  size_t n = 0;
  if (in_file) {
    OK(weft_session_save_file(session, 0, NULL, 0, NULL, 0, temporary("saved"), &error));
    OK(weft_saved_open(temporary("saved"), &saved, &error));
  } else {
    OK(weft_session_save(session, 0, NULL, 0, NULL, 0, &bytes, &error));
    OK(weft_saved_open_memory(bytes.data, bytes.size, &saved, &error));
  }
  OK(weft_saved_get_tokens(saved, &tokens, &n, &error));
  CHECK(n <= info->n_tokens && memcmp(tokens, info->tokens, n * sizeof *tokens) == 0);
  weft_saved_free(saved);
  weft_text_free(&bytes);
  return (int64_t)n;
}

static void guesses_are_neither_saved_nor_copied(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(2);
  weft_speculation* speculation = NULL;
  weft_speculation_options drafts;
  weft_speculation_options_init(&drafts, sizeof drafts);
  drafts.draft_model = stories();
  drafts.adaptive = 0;
  OK(weft_speculation_open(session, &drafts, &speculation, &error));
  weft_generation_info want = {.struct_size = sizeof want}, info = want;
  weft_generation* plain = text_with_guesses(session, NULL, &want);
  go_on(plain, &want);
  for (int in_file = 0; in_file < 2; ++in_file) {
    weft_generation* text = text_with_guesses(session, speculation, &info);
    CHECK(saved_of(session, &info, in_file) == info.n_held);
    go_on(text, &info); /* as if nobody had looked */
    CHECK(memcmp(info.tokens, want.tokens, want.n_tokens * sizeof *want.tokens) == 0);
    weft_generation_free(text);
  }
  weft_generation* text = text_with_guesses(session, speculation, &info);
  int64_t length = 0;
  OK(weft_session_copy(session, 0, 1, -1, &error));
  OK(weft_session_get_length(session, 1, &length, &error));
  CHECK(length == info.n_held);
  go_on(text, &info);
  CHECK(memcmp(info.tokens, want.tokens, want.n_tokens * sizeof *want.tokens) == 0);
  weft_generation_free(text);
  weft_generation_free(plain);
  weft_speculation_free(speculation);
  weft_session_free(session);
}

const test_case saved_tests[] = {
    {"sequences are saved and restored", sequences_are_saved_and_restored},
    {"files hold sequences", files_hold_sequences},
    {"sequences of other computations are refused", sequences_of_other_computations_are_refused},
    {"guesses are neither saved nor copied", guesses_are_neither_saved_nor_copied},
    {NULL, NULL}};
