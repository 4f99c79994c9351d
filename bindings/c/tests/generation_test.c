#include <math.h>
#include <stdlib.h>

#include "check.h"

static const char once[] = "Once upon a time";

/* Up to `n` tokens of a text that has begun, and its text. Returns how it stopped. */
static int take(weft_generation* generation, weft_token* tokens, size_t* n, char* text) {
  weft_error* error = NULL;
  weft_generation_event event = {.struct_size = sizeof event};
  const size_t wanted = *n;
  *n = 0;
  text[0] = '\0';
  while (*n < wanted) {
    if (!OK(weft_generation_next(generation, &event, &error))) return -1;
    strcat(text, event.text);
    CHECK(event.text_size == strlen(event.text));
    if (event.token >= 0) tokens[(*n)++] = event.token;
    if (event.stop != WEFT_STOP_NONE) return event.stop;
  }
  return WEFT_STOP_NONE;
}

/* The most likely of n logits. */
static weft_token best_of(const float* logits, size_t n) {
  size_t best = 0;
  for (size_t i = 1; i < n; ++i)
    if (logits[i] > logits[best]) best = i;
  return (weft_token)best;
}

static void greedy_texts_are_those_of_steps_and_argmax(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(2);
  weft_generation* generation = greedy(session, 0, NULL);
  weft_token tokens[8];
  char text[512];
  size_t n = 8;
  OK(weft_generation_begin_text(generation, once, strlen(once), &error));
  CHECK(take(generation, tokens, &n, text) == WEFT_STOP_NONE && n == 8);

  weft_generation_info info = {.struct_size = sizeof info};
  OK(weft_generation_get_info(generation, &info, &error));
  CHECK(info.n_new == 8 && info.n_prompt > 1 && info.ended == 0 && info.sequence == 0);
  CHECK(info.n_tokens == (size_t)info.n_prompt + 8 && strcmp(info.stop_string, "") == 0);
  float* logits = NULL;
  size_t v = 0;
  OK(weft_session_feed(session, 1, info.tokens, (size_t)info.n_prompt, NULL, NULL, &error));
  for (int i = 0; i < 8; ++i) {
    OK(weft_session_get_logits(session, &logits, &v, &error));
    const weft_token best = best_of(logits, v);
    CHECK(best == tokens[i]);
    OK(weft_session_feed(session, 1, &best, 1, NULL, NULL, &error));
  }
  weft_generation_free(generation);
  weft_session_free(session);
}

static void texts_end_as_the_options_say(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(1);
  weft_generation_options options;
  weft_generation_info info = {.struct_size = sizeof info};
  weft_token tokens[64];
  char text[2048];
  size_t n = 64;
  weft_generation_options_init(&options, sizeof options);
  options.max_tokens = 5;
  weft_generation* generation = greedy(session, 0, &options);
  OK(weft_generation_begin_text(generation, once, strlen(once), &error));
  CHECK(take(generation, tokens, &n, text) == WEFT_STOP_MAX_TOKENS && n == 5);
  /* A second text reuses what the sequence holds. */
  OK(weft_generation_begin_text(generation, once, strlen(once), &error));
  n = 64;
  CHECK(take(generation, tokens, &n, text) == WEFT_STOP_MAX_TOKENS);
  OK(weft_generation_get_info(generation, &info, &error));
  CHECK(info.n_reused == info.n_prompt - 1 && info.ended == 1);
  weft_generation_free(generation);
  weft_session_free(session);
}

static void texts_end_at_stop_strings_and_tokens(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(1);
  weft_generation_options options;
  weft_generation_info info = {.struct_size = sizeof info};
  weft_token tokens[64];
  char text[2048], stopped[2048];
  size_t n = 6;
  weft_generation* generation = greedy(session, 0, NULL);
  OK(weft_generation_begin_text(generation, once, strlen(once), &error));
  take(generation, tokens, &n, text);
  weft_generation_free(generation);

  const weft_string stop = {text + 4, 3};
  weft_generation_options_init(&options, sizeof options);
  options.stops = &stop;
  options.n_stops = 1;
  generation = greedy(session, 0, &options);
  OK(weft_generation_begin_text(generation, once, strlen(once), &error));
  n = 64;
  CHECK(take(generation, tokens, &n, stopped) == WEFT_STOP_STRING);
  CHECK(strlen(stopped) <= 4 && strncmp(stopped, text, strlen(stopped)) == 0);
  OK(weft_generation_get_info(generation, &info, &error));
  CHECK(memcmp(info.stop_string, text + 4, 3) == 0);
  weft_generation_free(generation);

  options.n_stops = 0;
  options.stop_tokens = &tokens[2];
  options.n_stop_tokens = 1;
  options.max_tokens = 50;
  generation = greedy(session, 0, &options);
  OK(weft_generation_begin_text(generation, once, strlen(once), &error));
  n = 64;
  CHECK(take(generation, tokens, &n, text) == WEFT_STOP_END_OF_TEXT);
  weft_generation_free(generation);
  weft_session_free(session);
}

static weft_status choose_the_third(void* user, const weft_choice* choice, weft_token* token,
                                    weft_error** error) {
  if (*(int*)user > 2) return weft_error_make(WEFT_ERROR_ARGUMENT, "enough of it", error);
  ++*(int*)user;
  *token = isinf(choice->logits[3]) || choice->n_logits < 4 || choice->n_tokens < 1 ? 4 : 3;
  return WEFT_SUCCESS;
}
static weft_status choose_nothing(void* user, const weft_choice* choice, weft_token* token,
                                  weft_error** error) {
  (void)user, (void)choice, (void)error;
  *token = -7;
  return WEFT_SUCCESS;
}

static void callbacks_choose_tokens(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(1);
  weft_generation_options options;
  weft_generation_event event = {.struct_size = sizeof event};
  int calls = 0;
  weft_generation_options_init(&options, sizeof options);
  options.choose = choose_the_third;
  options.choose_user = &calls;
  weft_generation* generation = greedy(session, 0, &options);
  OK(weft_generation_begin_text(generation, once, strlen(once), &error));
  for (int i = 0; i < 3; ++i) {
    OK(weft_generation_next(generation, &event, &error));
    CHECK(event.token == 3);
  }
  REFUSED(WEFT_ERROR_ARGUMENT, "enough of it", weft_generation_next(generation, &event, &error));
  calls = 0;
  OK(weft_generation_next(generation, &event, &error));
  weft_generation_free(generation);
  options.choose = choose_nothing;
  generation = greedy(session, 0, &options);
  OK(weft_generation_begin_text(generation, once, strlen(once), &error));
  REFUSED(WEFT_ERROR_CALLBACK, "chose token -7", weft_generation_next(generation, &event, &error));
  weft_generation_free(generation);
  weft_session_free(session);
}

static void generations_fork_and_feed(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(2);
  weft_generation* generation = greedy(session, 0, NULL);
  weft_generation* fork = NULL;
  weft_token tokens[4], others[4];
  char text[256];
  size_t n = 4;
  OK(weft_generation_begin_text(generation, once, strlen(once), &error));
  take(generation, tokens, &n, text);
  const uint64_t seed = 7;
  if (OK(weft_generation_fork(generation, 1, &seed, &fork, &error))) {
    size_t m = 4;
    take(generation, tokens, &n, text);
    take(fork, others, &m, text);
    CHECK(n == m && memcmp(tokens, others, n * sizeof *tokens) == 0);
    weft_generation_free(fork);
  }
  REFUSED(WEFT_ERROR_ARGUMENT, "", weft_generation_fork(generation, 0, NULL, &fork, &error));
  OK(weft_generation_feed_last(generation, &error));
  int64_t length = 0;
  weft_generation_info info = {.struct_size = sizeof info};
  OK(weft_generation_get_info(generation, &info, &error));
  OK(weft_session_get_length(session, 0, &length, &error));
  CHECK(length == (int64_t)info.n_tokens && info.n_pending == 0);
  weft_generation_free(generation);
  weft_session_free(session);
}

static void sequences_that_others_change_are_noticed(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(1);
  weft_generation* generation = greedy(session, 0, NULL);
  weft_generation_event event = {.struct_size = sizeof event};
  OK(weft_generation_begin_text(generation, once, strlen(once), &error));
  OK(weft_generation_next(generation, &event, &error));
  OK(weft_session_truncate(session, 0, 1, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "sequence 0 has 1 tokens, and no longer the",
          weft_generation_next(generation, &event, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "begin a text", weft_generation_feed_last(generation, &error));
  OK(weft_generation_begin_text(generation, once, strlen(once), &error));
  OK(weft_generation_next(generation, &event, &error));
  weft_generation_free(generation);
  weft_session_free(session);
}

static void generations_adopt_what_a_sequence_holds(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(2);
  weft_generation* generation = greedy(session, 1, NULL);
  weft_generation_info info = {.struct_size = sizeof info};
  const weft_token prompt[] = {1, 2, 3, 4};
  OK(weft_session_feed(session, 1, prompt, 3, NULL, NULL, &error));
  OK(weft_generation_adopt(generation, prompt, 3, &error));
  OK(weft_generation_begin(generation, prompt, 4, 0, &error));
  OK(weft_generation_prefill(generation, NULL, NULL, &error));
  OK(weft_generation_get_info(generation, &info, &error));
  CHECK(info.n_reused == 3);
  REFUSED(WEFT_ERROR_ARGUMENT, "", weft_generation_adopt(generation, prompt, 1, &error));
  weft_sampler_options sampler;
  weft_sampler_options_init(&sampler, sizeof sampler);
  sampler.seed = 5;
  OK(weft_generation_set_sampler(generation, &sampler, &error));
  const weft_logit_bias bias = {1 << 30, 1};
  sampler.logit_bias = &bias;
  sampler.n_logit_bias = 1;
  REFUSED(WEFT_ERROR_ARGUMENT, "logit_bias: 1073741824 is not a token",
          weft_generation_set_sampler(generation, &sampler, &error));
  OK(weft_generation_set_grammar(generation, NULL, &error));
  const weft_token unknown[] = {1, -1};
  REFUSED(WEFT_ERROR_ARGUMENT, "prompt: -1 is not a token",
          weft_generation_begin(generation, unknown, 2, 0, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "sequence 1 has 4 tokens, got 2",
          weft_generation_adopt(generation, unknown, 2, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "", weft_generation_begin(generation, NULL, 0, 0, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`prompt` is NULL",
          weft_generation_begin(generation, NULL, 4, 0, &error));
  weft_generation_free(generation);
  REFUSED(WEFT_ERROR_ARGUMENT, "", weft_generation_open(session, 2, NULL, &generation, &error));
  weft_session_free(session);
}

/* A chat whose prompt is too long leaves the grammar that was set. */
static int fails_to_begin_a_chat(weft_generation* generation) {
  weft_error* error = NULL;
  weft_chat* chat = NULL;
  weft_chat_plan* plan = NULL;
  weft_chat_turn turn;
  static char messages[8192];
  weft_chat_turn_init(&turn, sizeof turn);
  strcpy(messages, "[{\"role\": \"user\", \"content\": \"");
  for (int i = 0; i < 1000; ++i) strcat(messages, "a cat ");
  strcat(messages, "\"}]");
  turn.messages = messages;
  turn.constraint = "zzz";
  turn.constraint_kind = WEFT_GRAMMAR_REGEX;
  OK(weft_chat_open(stories(), NULL, &chat, &error));
  OK(weft_chat_plan_open(chat, &turn, &plan, &error));
  const weft_status status = weft_generation_begin_chat(generation, plan, 0, NULL);
  weft_chat_plan_free(plan);
  weft_chat_free(chat);
  return status == WEFT_ERROR_ARGUMENT;
}

/* A generation that was opened without a grammar takes one. */
static void grammars_can_be_set_later(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(1);
  weft_generation* generation = greedy(session, 0, NULL);
  weft_grammar* grammar = NULL;
  weft_generation_event event = {.struct_size = sizeof event};
  char text[64] = "";
  OK(weft_grammar_open(WEFT_GRAMMAR_CHOICE, "[\"yes\", \"no\"]", 13, NULL, &grammar, &error));
  OK(weft_generation_set_grammar(generation, grammar, &error));
  weft_grammar_free(grammar);
  CHECK(fails_to_begin_a_chat(generation));
  OK(weft_generation_begin_text(generation, "Once upon", 9, &error));
  do {
    if (!OK(weft_generation_next(generation, &event, &error))) break;
    strncat(text, event.text, sizeof text - strlen(text) - 1);
  } while (event.stop == WEFT_STOP_NONE);
  CHECK(strcmp(text, "yes") == 0 || strcmp(text, "no") == 0);
  weft_generation_free(generation);
  weft_session_free(session);
}

static void batches_give_each_text_its_own_tokens(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(3);
  weft_batch* batch = NULL;
  weft_generation* texts[3];
  static const char* const prompts[] = {"Once upon a time", "The dog", "Lily and her mother went"};
  weft_token alone[3][6], together[3][6];
  char text[512];
  for (int i = 0; i < 3; ++i) {
    size_t n = 6;
    texts[i] = greedy(session, i, NULL);
    OK(weft_generation_begin_text(texts[i], prompts[i], strlen(prompts[i]), &error));
    take(texts[i], alone[i], &n, text);
    OK(weft_generation_begin_text(texts[i], prompts[i], strlen(prompts[i]), &error));
  }
  OK(weft_batch_open(session, &batch, &error));
  weft_generation_event events[3] = {{.struct_size = sizeof *events},
                                     {.struct_size = sizeof *events},
                                     {.struct_size = sizeof *events}};
  int32_t has_event[3];
  size_t counts[3] = {0, 0, 0};
  for (int step = 0; step < 40 && (counts[0] < 6 || counts[1] < 6 || counts[2] < 6); ++step) {
    if (!OK(weft_batch_step(batch, texts, 3, events, has_event, &error))) break;
    for (int i = 0; i < 3; ++i)
      if (has_event[i] == 1 && counts[i] < 6) together[i][counts[i]++] = events[i].token;
  }
  CHECK(memcmp(alone, together, sizeof alone) == 0);
  for (int i = 0; i < 3; ++i) weft_generation_free(texts[i]);
  weft_batch_free(batch);
  weft_session_free(session);
}

static void batches_refuse_what_is_not_theirs(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(1);
  weft_session* other = new_session(1);
  weft_generation* text = greedy(session, 0, NULL);
  weft_generation* foreign = greedy(other, 0, NULL);
  weft_generation* twice[] = {text, text};
  weft_generation_event events[2] = {{.struct_size = sizeof *events},
                                     {.struct_size = sizeof *events}};
  int32_t has_event[2];
  weft_batch* batch = NULL;
  OK(weft_batch_open(session, &batch, &error));
  OK(weft_generation_begin_text(text, once, strlen(once), &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "", weft_batch_step(batch, twice, 2, events, has_event, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "another session",
          weft_batch_step(batch, &foreign, 1, events, has_event, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "no array",
          weft_batch_step(batch, twice, (size_t)1 << 63, events, has_event, &error));
  weft_generation_free(foreign);
  weft_generation_free(text);
  weft_session_free(other);
  weft_batch_free(batch);
  weft_session_free(session);
}

static void failures_in_a_batch_are_of_one_text(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(2);
  weft_batch* batch = NULL;
  weft_generation_options options;
  weft_generation_options_init(&options, sizeof options);
  int calls = 3;
  options.choose = choose_the_third;
  options.choose_user = &calls;
  weft_generation* texts[] = {greedy(session, 0, &options), greedy(session, 1, NULL)};
  for (int i = 0; i < 2; ++i) OK(weft_generation_begin_text(texts[i], once, strlen(once), &error));
  OK(weft_batch_open(session, &batch, &error));
  weft_generation_event events[2] = {{.struct_size = sizeof *events},
                                     {.struct_size = sizeof *events}};
  int32_t has_event[2] = {0, 0};
  for (int step = 0; step < 5 && has_event[0] == 0; ++step)
    OK(weft_batch_step(batch, texts, 2, events, has_event, &error));
  CHECK(has_event[0] == -WEFT_ERROR_ARGUMENT && has_event[1] == 1);
  CHECK(strcmp(events[0].text, "enough of it") == 0 && events[0].token == -1);
  weft_generation_free(texts[0]);
  weft_generation_free(texts[1]);
  weft_batch_free(batch);
  weft_session_free(session);
}

const test_case generation_tests[] = {
    {"greedy texts are those of steps and argmax", greedy_texts_are_those_of_steps_and_argmax},
    {"texts end as the options say", texts_end_as_the_options_say},
    {"texts end at stop strings and tokens", texts_end_at_stop_strings_and_tokens},
    {"callbacks choose tokens", callbacks_choose_tokens},
    {"generations fork and feed", generations_fork_and_feed},
    {"sequences that others change are noticed", sequences_that_others_change_are_noticed},
    {"generations adopt what a sequence holds", generations_adopt_what_a_sequence_holds},
    {"grammars can be set later", grammars_can_be_set_later},
    {"batches give each text its own tokens", batches_give_each_text_its_own_tokens},
    {"batches refuse what is not theirs", batches_refuse_what_is_not_theirs},
    {"failures in a batch are of one text", failures_in_a_batch_are_of_one_text},
    {NULL, NULL}};
