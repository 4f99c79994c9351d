/* Drafts: texts are the same with them. */
#include "check.h"

static const char prompt[] = "Once upon a time there was a fox named Pip. Once upon a time";

static weft_session* session_of(weft_model* model, uint32_t draft_layer) {
  weft_error* error = NULL;
  weft_session* session = NULL;
  weft_session_options options;
  weft_session_options_init(&options, sizeof options);
  options.context = 200;
  options.rewind = 4;
  options.draft_layer = draft_layer;
  OK(weft_session_open(model, &options, &session, &error));
  return session;
}

/* A model that has a draft layer. */
static weft_model* drafting_model(void) {
  weft_error* error = NULL;
  weft_model* model = NULL;
  const weft_value keys[] = {
      {.name = "glm4moe.block_count", .kind = WEFT_VALUE_INTEGER, .integer = 3},
      {.name = "glm4moe.nextn_predict_layers", .kind = WEFT_VALUE_INTEGER, .integer = 1}};
  const char* path = temporary("drafting.gguf");
  remove(path);
  OK(weft_write_made_model("glm4moe", keys, 2, path, &error));
  OK(weft_model_open(path, NULL, &model, &error));
  return model;
}

static weft_speculation* speculation_of(weft_session* session, const char* type,
                                        weft_model* draft_model) {
  weft_error* error = NULL;
  weft_speculation* speculation = NULL;
  weft_speculation_options options;
  weft_speculation_options_init(&options, sizeof options);
  options.type = type;
  options.draft_model = draft_model;
  options.n_max = 5;
  options.ngram_size_n = 1;
  options.adaptive = 0;
  OK(weft_speculation_open(session, &options, &speculation, &error));
  return speculation;
}

typedef struct written {
  weft_token tokens[256];
  size_t n;
  char text[4096];
} written;

/* A text of up to 60 tokens. */
static written write_text(weft_session* session, weft_speculation* speculation, float temperature) {
  weft_error* error = NULL;
  weft_generation* generation = NULL;
  weft_generation_options options;
  weft_sampler_options sampler;
  weft_generation_event event = {.struct_size = sizeof event};
  weft_generation_info info = {.struct_size = sizeof info};
  const weft_token ids[] = {3, 1, 4, 1, 5, 9, 3, 1, 4};
  written w = {.n = 0};
  weft_sampler_options_init(&sampler, sizeof sampler);
  sampler.temperature = temperature;
  sampler.seed = 7;
  weft_generation_options_init(&options, sizeof options);
  options.sampler = &sampler;
  options.max_tokens = 60;
  options.ignore_eos = 1;
  options.speculation = speculation;
  OK(weft_generation_open(session, 0, &options, &generation, &error));
  if (weft_generation_begin_text(generation, prompt, strlen(prompt), NULL) != WEFT_SUCCESS)
    OK(weft_generation_begin(generation, ids, sizeof ids / sizeof *ids, 0, &error));
  int64_t length = 0;
  do {
    if (!OK(weft_generation_next(generation, &event, &error))) break;
    strcat(w.text, event.text);
    OK(weft_generation_get_info(generation, &info, &error));
    OK(weft_session_get_length(session, 0, &length, &error));
    CHECK(length == info.n_held + info.n_guessed);
  } while (event.stop == WEFT_STOP_NONE);
  CHECK(info.n_guessed == 0);
  w.n = info.n_tokens;
  CHECK(w.n > 60 && w.n < 256);
  memcpy(w.tokens, info.tokens, w.n * sizeof *w.tokens);
  weft_generation_free(generation);
  return w;
}

static int same(const written* a, const written* b) {
  return a->n == b->n && memcmp(a->tokens, b->tokens, a->n * sizeof *a->tokens) == 0 &&
         strcmp(a->text, b->text) == 0;
}

static weft_speculation_info info_of(weft_speculation* speculation, const char* type) {
  weft_error* error = NULL;
  weft_speculation_info info = {.struct_size = sizeof info};
  OK(weft_speculation_get_info(speculation, type, &info, &error));
  return info;
}

static void check_texts(weft_session* session, const char* type, weft_model* draft_model) {
  weft_speculation* speculation = speculation_of(session, type, draft_model);
  for (int seeded = 0; seeded < 2; ++seeded) {
    const float temperature = seeded ? 0.9F : 0;
    const written want = write_text(session, NULL, temperature);
    const written got = write_text(session, speculation, temperature);
    CHECK(same(&got, &want));
  }
  const weft_speculation_info all = info_of(speculation, NULL);
  CHECK(strcmp(all.type, type) == 0 && all.n_max == 5);
  CHECK(all.n_drafted > 0 && all.n_accepted >= 0 && all.n_accepted <= all.n_drafted);
  CHECK(all.seconds > 0 && all.seconds_without > 0);
  weft_speculation_free(speculation);
}

static void texts_are_the_same_with_all_types(void) {
  weft_session* session = session_of(stories(), 0);
  check_texts(session, "ngram-simple", NULL);
  check_texts(session, "draft", stories());
  check_texts(session, "ngram-simple,draft", stories());
  weft_session_free(session);
  weft_model* model = drafting_model();
  session = session_of(model, 1);
  check_texts(session, "draft-mtp", NULL);
  check_texts(session, "draft-mtp,ngram-simple", NULL);
  weft_session_free(session);
  weft_model_free(model);
}

static void a_model_that_is_its_own_draft_is_always_right(void) {
  weft_session* session = session_of(stories(), 0);
  weft_speculation* speculation = speculation_of(session, "draft,ngram-simple", stories());
  write_text(session, speculation, 0);
  const weft_speculation_info all = info_of(speculation, NULL);
  const weft_speculation_info model = info_of(speculation, "draft");
  const weft_speculation_info look_up = info_of(speculation, "ngram-simple");
  CHECK(model.n_drafted > 40 && model.n_accepted == model.n_drafted);
  CHECK(model.n_drafted + look_up.n_drafted == all.n_drafted);
  CHECK(info_of(speculation, "draft-mtp").n_drafted == 0);
  weft_speculation_free(speculation);
  weft_session_free(session);
}

static void types_have_defaults(void) {
  weft_session* session = session_of(stories(), 0);
  weft_speculation* speculation = speculation_of(session, NULL, NULL);
  CHECK(strcmp(info_of(speculation, NULL).type, "ngram-simple") == 0);
  weft_speculation_free(speculation);
  speculation = speculation_of(session, NULL, stories());
  CHECK(strcmp(info_of(speculation, NULL).type, "draft") == 0);
  weft_speculation_free(speculation);
  speculation = speculation_of(session, "none", NULL);
  CHECK(strcmp(info_of(speculation, NULL).type, "") == 0);
  const written want = write_text(session, NULL, 0), got = write_text(session, speculation, 0);
  CHECK(same(&got, &want) && info_of(speculation, NULL).n_drafted == 0);
  weft_speculation_free(speculation);
  weft_session_free(session);
  weft_model* model = drafting_model();
  session = session_of(model, 1);
  speculation = speculation_of(session, NULL, NULL);
  CHECK(strcmp(info_of(speculation, NULL).type, "draft-mtp") == 0);
  weft_speculation_free(speculation);
  weft_session_free(session);
  weft_model_free(model);
}

static void models_say_whether_they_draft(void) {
  weft_error* error = NULL;
  weft_model* model = drafting_model();
  weft_session* session = NULL;
  weft_model_info info = {.struct_size = sizeof info};
  weft_session_options options;
  OK(weft_model_get_info(model, &info, &error));
  CHECK((info.flags & WEFT_MODEL_DRAFTS) != 0 && (info.flags & WEFT_MODEL_RECURRENT) == 0);
  OK(weft_model_get_info(stories(), &info, &error));
  CHECK((info.flags & (WEFT_MODEL_DRAFTS | WEFT_MODEL_RECURRENT)) == 0);
  weft_model_free(model);
  OK(weft_write_made_model("mamba", NULL, 0, temporary("recurrent.gguf"), &error));
  OK(weft_model_open(temporary("recurrent.gguf"), NULL, &model, &error));
  OK(weft_model_get_info(model, &info, &error));
  CHECK((info.flags & WEFT_MODEL_RECURRENT) != 0);
  weft_session_options_init(&options, sizeof options);
  options.rewind = 65;
  REFUSED(WEFT_ERROR_ARGUMENT, "rewind", weft_session_open(model, &options, &session, &error));
  weft_model_free(model);

  options.rewind = 0;
  options.draft_layer = 1;
  REFUSED(WEFT_ERROR_UNSUPPORTED, "", weft_session_open(stories(), &options, &session, &error));
  options.draft_layer = 0;
  options.reserved = 1;
  REFUSED(WEFT_ERROR_UNSUPPORTED, "", weft_session_open(stories(), &options, &session, &error));
}

/* Options that are refused with this message. */
static void refused(weft_session* session, const char* message, weft_status status,
                    weft_speculation_options options) {
  weft_error* error = NULL;
  weft_speculation* speculation = NULL;
  REFUSED(status, message, weft_speculation_open(session, &options, &speculation, &error));
  CHECK(speculation == NULL);
}

static void what_cannot_draft_is_refused(void) {
  weft_session* session = session_of(stories(), 0);
  weft_model* other = drafting_model();
  weft_speculation_options options;
  weft_speculation_options_init(&options, sizeof options);
  options.type = "ngram-simple,magic";
  refused(session, "'magic'; known: draft, draft-mtp, draft-eagle3, ngram-simple",
          WEFT_ERROR_ARGUMENT, options);
  options.type = "draft";
  refused(session, "need a draft model", WEFT_ERROR_ARGUMENT, options);
  options.draft_model = other;
  refused(session, "same vocabulary", WEFT_ERROR_ARGUMENT, options);
  weft_model_free(other);
  refused(session, "", WEFT_ERROR_HANDLE, options);
  options.draft_model = NULL;
  options.type = "draft-mtp";
  refused(session, "need a session with such a layer", WEFT_ERROR_ARGUMENT, options);
  weft_session_free(session);
}

static void numbers_out_of_range_are_refused(void) {
  weft_error* error = NULL;
  weft_session* session = session_of(stories(), 0);
  weft_speculation_options usual, wrong;
  weft_speculation_options_init(&usual, sizeof usual);
  wrong = usual, wrong.n_max = 0;
  refused(session, "n_max", WEFT_ERROR_ARGUMENT, wrong);
  wrong = usual, wrong.p_min = 1.5F;
  refused(session, "p_min", WEFT_ERROR_ARGUMENT, wrong);
  wrong = usual, wrong.ngram_size_n = 1025;
  refused(session, "ngram_size_n", WEFT_ERROR_ARGUMENT, wrong);
  wrong = usual, wrong.adaptive = 2;
  refused(session, "adaptive", WEFT_ERROR_ARGUMENT, wrong);
  wrong = usual, wrong.reserved = 1;
  refused(session, "", WEFT_ERROR_UNSUPPORTED, wrong);
  REFUSED(WEFT_ERROR_ARGUMENT, "`speculation` is NULL",
          weft_speculation_open(session, NULL, NULL, &error));
  weft_session_free(session);
}

static void speculations_belong_to_a_session(void) {
  weft_error* error = NULL;
  weft_session* session = session_of(stories(), 0);
  weft_session* other = session_of(stories(), 0);
  weft_speculation* speculation = speculation_of(session, "ngram-simple", NULL);
  weft_generation* generation = NULL;
  weft_generation_options options;
  weft_generation_options_init(&options, sizeof options);
  options.speculation = speculation;
  REFUSED(WEFT_ERROR_ARGUMENT, "another session",
          weft_generation_open(other, 0, &options, &generation, &error));
  weft_speculation_info info = {.struct_size = sizeof info};
  REFUSED(WEFT_ERROR_ARGUMENT, "known: draft",
          weft_speculation_get_info(speculation, "magic", &info, &error));
  /* Texts keep what they use. */
  OK(weft_generation_open(session, 0, &options, &generation, &error));
  OK(weft_speculation_free(speculation));
  OK(weft_session_free(session));
  OK(weft_generation_begin_text(generation, prompt, strlen(prompt), &error));
  weft_generation_event event = {.struct_size = sizeof event};
  for (int i = 0; i < 20; ++i) OK(weft_generation_next(generation, &event, &error));
  weft_generation_free(generation);
  weft_session_free(other);
}

static void no_room(void* user, const char* line) {
  snprintf(user, 256, "%s", line);
}

static void draft_models_without_room_are_left_out(void) {
  weft_error* error = NULL;
  weft_session* session = session_of(stories(), 0);
  weft_speculation* speculation = NULL;
  weft_session_options small;
  weft_speculation_options options;
  char line[256] = "";
  weft_session_options_init(&small, sizeof small);
  small.mem_budget = 1000;
  weft_speculation_options_init(&options, sizeof options);
  options.draft_model = stories();
  options.draft_session = &small;
  options.log = no_room;
  options.log_user = line;
  OK(weft_speculation_open(session, &options, &speculation, &error));
  CHECK(strstr(line, "no drafts by this model: no room") != NULL);
  CHECK(strcmp(info_of(speculation, NULL).type, "") == 0);
  weft_speculation_free(speculation);
  weft_session_free(session);
}

static int32_t frees_the_text(void* user, int64_t done, int64_t total) {
  (void)done, (void)total;
  CHECK(weft_generation_free(user) == WEFT_SUCCESS);
  return 0;
}

static void texts_that_are_freed_leave_no_guesses(void) {
  weft_error* error = NULL;
  weft_session_options options;
  weft_session* session = NULL;
  weft_session_options_init(&options, sizeof options);
  options.context = 200;
  options.sequences = 2;
  OK(weft_session_open(stories(), &options, &session, &error));
  weft_speculation* speculation = speculation_of(session, "draft", stories());
  weft_generation_info info = {.struct_size = sizeof info};
  int64_t length = 0;
  weft_generation_free(text_with_guesses(session, speculation, &info));
  OK(weft_session_get_length(session, 0, &length, &error));
  CHECK(length == info.n_held);

  /* While another call uses the session, which keeps the sequence until it ends. */
  const weft_token ids[] = {3, 1, 4};
  weft_generation* generation = text_with_guesses(session, speculation, &info);
  OK(weft_session_feed(session, 1, ids, 3, frees_the_text, generation, &error));
  OK(weft_session_get_length(session, 0, &length, &error));
  CHECK(length == info.n_held);

  /* A sequence that has another text by then stays as it is. */
  generation = text_with_guesses(session, speculation, &info);
  OK(weft_session_truncate(session, 0, 0, &error));
  for (int i = 0; i < 40; ++i) OK(weft_session_feed(session, 0, ids, 3, NULL, NULL, &error));
  weft_generation_free(generation);
  OK(weft_session_get_length(session, 0, &length, &error));
  CHECK(length == 120);
  weft_speculation_free(speculation);
  weft_session_free(session);
}

static int32_t adds_content(void* user, const weft_reply_event* event) {
  if (event->kind == WEFT_REPLY_CONTENT) strncat(user, event->text, event->text_size);
  return 0;
}

static void conversations_say_the_same(void) {
  weft_error* error = NULL;
  weft_session* session = session_of(stories(), 0);
  weft_speculation* speculation = speculation_of(session, "draft", stories());
  weft_sampler_options sampler;
  char said[2][2048] = {"", ""};
  weft_sampler_options_init(&sampler, sizeof sampler);
  sampler.seed = 3;
  for (int with = 0; with < 2; ++with) {
    weft_conversation_options options;
    weft_conversation* conversation = NULL;
    int32_t stop = WEFT_STOP_NONE;
    weft_conversation_options_init(&options, sizeof options);
    options.sampler = &sampler;
    options.max_reply = 40;
    options.speculation = with ? speculation : NULL;
    OK(weft_session_truncate(session, 0, 0, &error));
    OK(weft_conversation_open(session, 0, &options, &conversation, &error));
    OK(weft_conversation_say(conversation, "A fox?", 6, NULL, adds_content, said[with], &stop,
                             &error));
    weft_conversation_free(conversation);
  }
  CHECK(strlen(said[0]) > 0 && strcmp(said[0], said[1]) == 0);
  CHECK(info_of(speculation, NULL).n_drafted > 0);
  weft_speculation_free(speculation);
  weft_session_free(session);
}

const test_case speculation_tests[] = {
    {"texts are the same with all types", texts_are_the_same_with_all_types},
    {"a model that is its own draft is always right",
     a_model_that_is_its_own_draft_is_always_right},
    {"types have defaults", types_have_defaults},
    {"models say whether they draft", models_say_whether_they_draft},
    {"what cannot draft is refused", what_cannot_draft_is_refused},
    {"numbers out of range are refused", numbers_out_of_range_are_refused},
    {"speculations belong to a session", speculations_belong_to_a_session},
    {"draft models without room are left out", draft_models_without_room_are_left_out},
    {"texts that are freed leave no guesses", texts_that_are_freed_leave_no_guesses},
    {"conversations say the same", conversations_say_the_same},
    {NULL, NULL}};
