#include <stdlib.h>

#include "check.h"

static const char tools[] =
    "[{\"type\": \"function\", \"function\": {\"name\": \"switch\", \"parameters\": {\"type\": "
    "\"object\", \"properties\": {\"on\": {\"type\": \"boolean\"}}, \"required\": [\"on\"]}}}]";

static weft_conversation_options new_options(weft_sampler_options* sampler) {
  weft_conversation_options options;
  weft_error* error = NULL;
  weft_sampler_options_init(sampler, sizeof *sampler);
  sampler->temperature = 0;
  CHECK(weft_conversation_options_init(&options, sizeof options) == WEFT_SUCCESS);
  CHECK(options.max_reply == -1);
  options.sampler = sampler;
  options.max_reply = 6;
  OK(weft_chat_open(stories(), "chatml", &options.chat, &error));
  return options;
}

static weft_conversation* open_conversation(weft_session* session,
                                            const weft_conversation_options* options) {
  weft_error* error = NULL;
  weft_conversation* conversation = NULL;
  OK(weft_conversation_open(session, 0, options, &conversation, &error));
  weft_chat_free(options->chat);
  return conversation;
}

typedef struct heard {
  char text[256];
  int n_calls;
  weft_session* cancelled; /* NULL: none */
} heard;

static int32_t hear(void* user, const weft_reply_event* event) {
  heard* h = user;
  weft_text json = {NULL, 0};
  if (event->kind == WEFT_REPLY_CONTENT) strncat(h->text, event->text, 255 - strlen(h->text));
  h->n_calls += event->kind == WEFT_REPLY_CALL_END;
  if (h->cancelled == NULL) return 0;
  CHECK(weft_session_json(h->cancelled, &json, NULL) == WEFT_ERROR_BUSY);
  CHECK(weft_session_cancel(h->cancelled) == WEFT_SUCCESS);
  return 0;
}

static heard say(weft_conversation* conversation, const char* message, int32_t expected) {
  weft_error* error = NULL;
  int32_t stop = -1;
  heard h;
  memset(&h, 0, sizeof h);
  OK(weft_conversation_say(conversation, message, strlen(message), NULL, hear, &h, &stop, &error));
  CHECK(stop == expected);
  return h;
}

static void check_messages(weft_conversation* conversation, const char* expected) {
  weft_error* error = NULL;
  weft_text json = {NULL, 0};
  OK(weft_conversation_messages_json(conversation, &json, &error));
  if (json.data == NULL || strcmp(json.data, expected) != 0) {
    CHECK(!"the messages are those expected");
    fprintf(stderr, "  got %s\n  expected %s\n", json.data, expected);
  }
  weft_text_free(&json);
}

static void conversations_keep_their_messages(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(1);
  weft_sampler_options sampler;
  weft_conversation_options options = new_options(&sampler);
  options.system = "Be brief";
  options.constraint = "[\"yes\"]";
  options.constraint_kind = WEFT_GRAMMAR_CHOICE;
  weft_conversation* conversation = open_conversation(session, &options);
  heard h = say(conversation, "One?", WEFT_STOP_COMPLETE);
  CHECK(strcmp(h.text, "yes") == 0);
  say(conversation, "Two?", WEFT_STOP_COMPLETE);
  weft_text text = {NULL, 0};
  OK(weft_conversation_undo_turn(conversation, &text, &error));
  CHECK(strcmp(text.data, "Two?") == 0);
  weft_text_free(&text);
  check_messages(conversation,
                 "[{\"role\":\"system\",\"content\":\"Be brief\"},"
                 "{\"role\":\"user\",\"content\":\"One?\"},"
                 "{\"role\":\"assistant\",\"content\":\"yes\"}]");
  OK(weft_conversation_reset(conversation, &error));
  check_messages(conversation, "[{\"role\":\"system\",\"content\":\"Be brief\"}]");
  OK(weft_conversation_undo_turn(conversation, &text, &error));
  CHECK(text.size == 0);
  weft_text_free(&text);
  OK(weft_conversation_set_system(conversation, NULL, &error));
  check_messages(conversation, "[]");
  int32_t stop = -1;
  REFUSED(WEFT_ERROR_ARGUMENT, "cannot begin with a given text",
          weft_conversation_say(conversation, "x", 1, "Ye", NULL, NULL, &stop, &error));
  check_messages(conversation, "[]");
  weft_session_free(session); /* the conversation keeps it */
  say(conversation, "Three?", WEFT_STOP_COMPLETE);
  CHECK(weft_conversation_free(conversation) == WEFT_SUCCESS);
}

static void replies_repeat_and_may_begin_with_a_text(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(1);
  weft_sampler_options sampler;
  weft_conversation_options options = new_options(&sampler);
  weft_conversation* conversation = open_conversation(session, &options);
  heard first = say(conversation, "Once", WEFT_STOP_MAX_TOKENS);
  OK(weft_conversation_reset(conversation, &error));
  heard second = say(conversation, "Once", WEFT_STOP_MAX_TOKENS);
  CHECK(strlen(first.text) > 0 && strcmp(first.text, second.text) == 0);
  /* A reply may begin with a given text. */
  int32_t stop = -1;
  heard h;
  memset(&h, 0, sizeof h);
  OK(weft_conversation_say(conversation, "And", 3, "then", hear, &h, &stop, &error));
  CHECK(strncmp(h.text, "then", 4) == 0);
  weft_conversation_free(conversation);
  weft_session_free(session);
}

static void cancelled_replies_stay_as_far_as_they_came(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(1);
  weft_sampler_options sampler;
  weft_conversation_options options = new_options(&sampler);
  weft_conversation* conversation = open_conversation(session, &options);
  int32_t stop = -1;
  heard h;
  memset(&h, 0, sizeof h);
  h.cancelled = session;
  OK(weft_conversation_say(conversation, "Once", 4, NULL, hear, &h, &stop, &error));
  CHECK(stop == WEFT_STOP_CANCELLED);
  weft_text json = {NULL, 0};
  OK(weft_conversation_messages_json(conversation, &json, &error));
  CHECK(strstr(json.data, "\"assistant\"") != NULL);
  weft_text_free(&json);
  say(conversation, "Again", WEFT_STOP_MAX_TOKENS);
  weft_conversation_free(conversation);
  weft_session_free(session);
}

static void calls_are_answered(void) {
  weft_error* error = NULL;
  weft_session* session = NULL;
  weft_session_options large;
  weft_session_options_init(&large, sizeof large);
  large.context = 1024;
  if (!OK(weft_session_open(stories(), &large, &session, &error))) return;
  weft_sampler_options sampler;
  weft_conversation_options options = new_options(&sampler);
  options.tools = tools;
  options.tool_choice = "required";
  options.single_call = 1;
  options.max_reply = 100;
  weft_conversation* conversation = open_conversation(session, &options);
  int32_t stop = -1;
  REFUSED(WEFT_ERROR_ARGUMENT, "no call",
          weft_conversation_answer_call(conversation, "x", 1, NULL, NULL, &stop, &error));
  heard h;
  memset(&h, 0, sizeof h);
  OK(weft_conversation_say(conversation, "On!", 3, NULL, hear, &h, &stop, &error));
  CHECK(h.n_calls == 1);
  weft_text json = {NULL, 0};
  OK(weft_conversation_open_calls_json(conversation, &json, &error));
  CHECK(strstr(json.data, "\"name\":\"switch\",\"arguments\":\"{\\\"on\\\":") != NULL);
  CHECK(strncmp(json.data, "[{\"id\":\"call00000\"", 18) == 0);
  weft_text_free(&json);
  OK(weft_conversation_answer_call(conversation, "done", 4, hear, &h, &stop, &error));
  CHECK(stop != WEFT_STOP_NONE);
  OK(weft_conversation_messages_json(conversation, &json, &error));
  CHECK(strstr(json.data,
               "\"role\":\"tool\",\"content\":\"done\",\"tool_call_id\":\"call00000\"") != NULL);
  weft_text_free(&json);
  OK(weft_conversation_reset(conversation, &error));
  OK(weft_conversation_open_calls_json(conversation, &json, &error));
  CHECK(strcmp(json.data, "[]") == 0);
  weft_text_free(&json);
  weft_conversation_free(conversation);
  weft_session_free(session);
}

static void conversations_are_saved_and_loaded(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(1);
  weft_sampler_options sampler;
  weft_conversation_options options = new_options(&sampler);
  weft_conversation* conversation = open_conversation(session, &options);
  weft_text before = {NULL, 0};
  int64_t n_cached = -1;
  say(conversation, "Once", WEFT_STOP_MAX_TOKENS);
  OK(weft_conversation_messages_json(conversation, &before, &error));
  OK(weft_conversation_save(conversation, temporary("c.json"), &error));
  OK(weft_conversation_save(conversation, temporary("c.bin"), &error));
  OK(weft_conversation_reset(conversation, &error));
  OK(weft_conversation_load(conversation, temporary("c.bin"), &n_cached, &error));
  CHECK(n_cached > 0);
  check_messages(conversation, before.data);
  OK(weft_conversation_reset(conversation, &error));
  OK(weft_conversation_load(conversation, temporary("c.json"), NULL, &error));
  check_messages(conversation, before.data);
  REFUSED(WEFT_ERROR_IO, "", weft_conversation_load(conversation, "/no/such", NULL, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`path` is NULL",
          weft_conversation_load(conversation, NULL, NULL, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`path` is NULL",
          weft_conversation_save(conversation, NULL, &error));
  CHECK(weft_conversation_load(conversation, model_path(), NULL, NULL) != WEFT_SUCCESS);
  check_messages(conversation, before.data);
  weft_text_free(&before);
  weft_conversation_free(conversation);
  weft_session_free(session);
}

static void options_of_conversations_are_checked(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(1);
  weft_conversation* c = NULL;
  weft_sampler_options sampler;
  weft_conversation_options options = new_options(&sampler);
  if (OK(weft_conversation_open(session, 0, NULL, &c, &error))) weft_conversation_free(c);
  c = NULL;
  REFUSED(WEFT_ERROR_ARGUMENT, "sequence",
          weft_conversation_open(session, 1, &options, &c, &error));
  options.max_reply = -2;
  REFUSED(WEFT_ERROR_ARGUMENT, "max_reply",
          weft_conversation_open(session, 0, &options, &c, &error));
  options.max_reply = 1;
  options.tools = "[";
  REFUSED(WEFT_ERROR_FORMAT, "tools", weft_conversation_open(session, 0, &options, &c, &error));
  options.tools = NULL;
  options.system = "\xff";
  REFUSED(WEFT_ERROR_FORMAT, "system", weft_conversation_open(session, 0, &options, &c, &error));
  options.system = NULL;
  options.n_stops = 1;
  REFUSED(WEFT_ERROR_ARGUMENT, "`stops`", weft_conversation_open(session, 0, &options, &c, &error));
  options.n_stops = 0;
  sampler.top_p = 2;
  REFUSED(WEFT_ERROR_ARGUMENT, "top_p", weft_conversation_open(session, 0, &options, &c, &error));
  sampler.top_p = 1;
  weft_model* other = NULL;
  weft_chat* chat = options.chat;
  OK(weft_model_open(model_path(), NULL, &other, &error));
  OK(weft_chat_open(other, "chatml", &options.chat, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "another model",
          weft_conversation_open(session, 0, &options, &c, &error));
  weft_chat_free(options.chat);
  weft_model_free(other);
  weft_chat_free(chat);
  REFUSED(WEFT_ERROR_HANDLE, "the chat was freed",
          weft_conversation_open(session, 0, &options, &c, &error));
  CHECK(c == NULL);
  weft_session_free(session);
}

static void messages_are_checked(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(1);
  weft_sampler_options sampler;
  weft_conversation_options options = new_options(&sampler);
  weft_conversation* c = open_conversation(session, &options);
  int32_t stop = -1;
  char* large = malloc(20000);
  memset(large, 'x', 20000);
  REFUSED(WEFT_ERROR_ARGUMENT, "", /* longer than the context */
          weft_conversation_say(c, large, 20000, NULL, NULL, NULL, &stop, &error));
  free(large);
  REFUSED(WEFT_ERROR_FORMAT, "message: not UTF-8",
          weft_conversation_say(c, "\xff", 1, NULL, NULL, NULL, &stop, &error));
  REFUSED(WEFT_ERROR_FORMAT, "prefill: not UTF-8",
          weft_conversation_say(c, "x", 1, "\xff", NULL, NULL, &stop, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "no array has",
          weft_conversation_say(c, "x", (size_t)1 << 63, NULL, NULL, NULL, &stop, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`stop` is NULL",
          weft_conversation_say(c, "x", 1, NULL, NULL, NULL, NULL, &error));
  REFUSED(WEFT_ERROR_FORMAT, "system", weft_conversation_set_system(c, "\xff", &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`message` is NULL", weft_conversation_undo_turn(c, NULL, &error));
  check_messages(c, "[]");
  OK(weft_conversation_say(c, NULL, 0, NULL, NULL, NULL, &stop, &error));
  weft_conversation_free(c);
  REFUSED(WEFT_ERROR_HANDLE, "the conversation was freed", weft_conversation_reset(c, &error));
  weft_session_free(session);
}

const test_case conversation_tests[] = {
    {"conversations keep their messages", conversations_keep_their_messages},
    {"replies repeat, and may begin with a text", replies_repeat_and_may_begin_with_a_text},
    {"cancelled replies stay as far as they came", cancelled_replies_stay_as_far_as_they_came},
    {"calls are answered", calls_are_answered},
    {"conversations are saved and loaded", conversations_are_saved_and_loaded},
    {"options of conversations are checked", options_of_conversations_are_checked},
    {"messages are checked", messages_are_checked},
    {NULL, NULL}};
