/* What makes small programs short: initializers of options, and a text in one call. */
#include <stdlib.h>

#include "check.h"

/* Constants: static objects can have them. */
static const weft_session_options static_options = WEFT_SESSION_OPTIONS_INIT;

/* The initializer has all that weft_X_init() sets, byte by byte: static objects have no padding. */
#define SAME_AS_INIT(type, initializer)              \
  do {                                               \
    static const type made = initializer;            \
    static type wanted;                              \
    memset(&wanted, 0, sizeof wanted);               \
    CHECK(type##_init(&wanted, sizeof wanted) == 0); \
    CHECK(memcmp(&made, &wanted, sizeof made) == 0); \
  } while (0)

// Padding is 0 on both sides: static objects have it so.
// NOLINTBEGIN(bugprone-suspicious-memory-comparison)
static void initializers_have_the_defaults(void) {
  SAME_AS_INIT(weft_model_options, WEFT_MODEL_OPTIONS_INIT);
  SAME_AS_INIT(weft_sampler_options, WEFT_SAMPLER_OPTIONS_INIT);
  SAME_AS_INIT(weft_session_options, WEFT_SESSION_OPTIONS_INIT);
  SAME_AS_INIT(weft_speculation_options, WEFT_SPECULATION_OPTIONS_INIT);
  SAME_AS_INIT(weft_generation_options, WEFT_GENERATION_OPTIONS_INIT);
  SAME_AS_INIT(weft_beam_options, WEFT_BEAM_OPTIONS_INIT);
  SAME_AS_INIT(weft_diffusion_options, WEFT_DIFFUSION_OPTIONS_INIT);
  SAME_AS_INIT(weft_chat_turn, WEFT_CHAT_TURN_INIT);
  SAME_AS_INIT(weft_conversation_options, WEFT_CONVERSATION_OPTIONS_INIT);
  SAME_AS_INIT(weft_embedder_options, WEFT_EMBEDDER_OPTIONS_INIT);
  SAME_AS_INIT(weft_computation_options, WEFT_COMPUTATION_OPTIONS_INIT);
  SAME_AS_INIT(weft_attend_options, WEFT_ATTEND_OPTIONS_INIT);
  SAME_AS_INIT(weft_bench_options, WEFT_BENCH_OPTIONS_INIT);
  SAME_AS_INIT(weft_quantize_options, WEFT_QUANTIZE_OPTIONS_INIT);
  CHECK(static_options.struct_size == sizeof static_options);
}
// NOLINTEND(bugprone-suspicious-memory-comparison)

static int32_t cancel_at_once(void* user) {
  (void)user;
  return 1;
}

static void a_text_takes_one_call(void) {
  weft_error* error = NULL;
  static const char once[] = "Once upon a time";
  weft_sampler_options greedily = WEFT_SAMPLER_OPTIONS_INIT;
  greedily.temperature = 0;
  weft_generation_options options = WEFT_GENERATION_OPTIONS_INIT;
  options.sampler = &greedily;
  options.max_tokens = 9;
  weft_session_options small = WEFT_SESSION_OPTIONS_INIT;
  small.context = 64;
  weft_text text = {NULL, 0};
  for (int with_session = 0; with_session < 2; ++with_session) {
    if (OK(weft_generate_text(stories(), with_session ? &small : NULL, once, strlen(once), &options,
                              &text, &error)))
      CHECK(strcmp(text.data, " there lived a tiny boy. His name was") == 0 &&
            text.size == strlen(text.data));
    weft_text_free(&text);
  }
  options.max_tokens = -1; /* until it ends, or the context is full */
  if (OK(weft_generate_text(stories(), &small, once, strlen(once), &options, &text, &error)))
    CHECK(text.size > 40);
  weft_text_free(&text);
  if (OK(weft_generate_text(stories(), &small, once, strlen(once), NULL, &text, &error)))
    CHECK(text.size > 0);
  weft_text_free(&text);
}

static void a_text_in_one_call_is_refused_as_its_parts_are(void) {
  weft_error* error = NULL;
  weft_text text = {NULL, 0};
  weft_session_options session = WEFT_SESSION_OPTIONS_INIT;
  weft_generation_options options = WEFT_GENERATION_OPTIONS_INIT;
  REFUSED(WEFT_ERROR_ARGUMENT, "`text` is NULL",
          weft_generate_text(stories(), NULL, "a", 1, NULL, NULL, &error));
  REFUSED(WEFT_ERROR_HANDLE, "", weft_generate_text(NULL, NULL, "a", 1, NULL, &text, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "NULL",
          weft_generate_text(stories(), NULL, NULL, 5, NULL, &text, &error));
  options.max_tokens = -2;
  REFUSED(WEFT_ERROR_ARGUMENT, "max_tokens",
          weft_generate_text(stories(), NULL, "a", 1, &options, &text, &error));
  session.sequences = 0;
  REFUSED(WEFT_ERROR_ARGUMENT, "sequences",
          weft_generate_text(stories(), &session, "a", 1, NULL, &text, &error));
  session.sequences = 1;
  session.poll = cancel_at_once;
  REFUSED(WEFT_ERROR_CANCELLED, "",
          weft_generate_text(stories(), &session, "a", 1, NULL, &text, &error));
  CHECK(text.data == NULL); /* results are written only on success */
}

/* A batch gives no event for texts that have ended: without a refusal, one would wait forever for
 * those that have not begun. */
static void batches_refuse_texts_that_have_not_begun(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(2);
  weft_generation* texts[] = {greedy(session, 0, NULL), greedy(session, 1, NULL)};
  weft_generation_event events[2] = {{.struct_size = sizeof *events},
                                     {.struct_size = sizeof *events}};
  int32_t has_event[2] = {0, 0};
  weft_batch* batch = NULL;
  OK(weft_batch_open(session, &batch, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "generation 0 of the batch has no prompt",
          weft_batch_step(batch, texts, 2, events, has_event, &error));
  OK(weft_generation_begin_text(texts[0], "Once", 4, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "generation 1 of the batch has no prompt",
          weft_batch_step(batch, texts, 2, events, has_event, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "no prompt", weft_generation_next(texts[1], &events[1], &error));
  int64_t length = -1;
  OK(weft_session_get_length(session, 0, &length, &error));
  CHECK(length == 0);
  OK(weft_generation_begin_text(texts[1], "One day", 7, &error));
  for (int step = 0; step < 5 && !(has_event[0] && has_event[1]); ++step)
    if (!OK(weft_batch_step(batch, texts, 2, events, has_event, &error))) break;
  CHECK(has_event[0] == 1 && has_event[1] == 1);
  for (int i = 0; i < 2; ++i) weft_generation_free(texts[i]);
  weft_batch_free(batch);
  weft_session_free(session);
}

const test_case one_call_tests[] = {
    {"initializers have the defaults", initializers_have_the_defaults},
    {"a text takes one call", a_text_takes_one_call},
    {"a text in one call is refused as its parts are",
     a_text_in_one_call_is_refused_as_its_parts_are},
    {"batches refuse texts that have not begun", batches_refuse_texts_that_have_not_begun},
    {NULL, NULL}};
