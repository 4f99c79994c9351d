#include "chats.h"

typedef struct heard {
  char text[6][256]; /* by kind */
  char id[32];
  int n[6];
} heard;

static int32_t hear(void* user, const weft_reply_event* event) {
  heard* h = user;
  CHECK(event->struct_size == sizeof *event && strlen(event->text) == event->text_size);
  CHECK((event->call < 0) == (event->kind < WEFT_REPLY_CALL_BEGIN));
  ++h->n[event->kind];
  strncat(h->text[event->kind], event->text, 255 - strlen(h->text[event->kind]));
  if (event->kind == WEFT_REPLY_CALL_BEGIN) snprintf(h->id, sizeof h->id, "%s", event->id);
  return 0;
}

static weft_reply* open_reply_of(const char* with_tools, int early_calls) {
  weft_error* error = NULL;
  weft_chat* chat = open_chat();
  weft_chat_plan* plan = NULL;
  weft_reply* reply = NULL;
  weft_chat_turn turn = new_turn("[{\"role\": \"user\", \"content\": \"Hi\"}]");
  turn.tools = with_tools;
  turn.early_calls = early_calls;
  OK(weft_chat_plan_open(chat, &turn, &plan, &error));
  OK(weft_reply_open(plan, &reply, &error));
  weft_chat_plan_free(plan);
  weft_chat_free(chat);
  return reply;
}

static weft_reply* open_reply(const char* with_tools) {
  return open_reply_of(with_tools, 0);
}

static void replies_are_read_as_they_come(void) {
  static const char text[] = "{\"name\": \"switch\", \"arguments\": {\"on\": true}}";
  weft_error* error = NULL;
  weft_reply* reply = open_reply(tools);
  weft_text json = {NULL, 0};
  heard h;
  memset(&h, 0, sizeof h);
  for (size_t i = 0; i < strlen(text); ++i)
    OK(weft_reply_push(reply, text + i, 1, hear, &h, &error));
  OK(weft_reply_finish(reply, hear, &h, &error));
  CHECK(strcmp(h.text[WEFT_REPLY_CALL_BEGIN], "switch") == 0);
  CHECK(strncmp(h.id, "call_", 5) == 0 && strlen(h.id) == 29);
  CHECK(strcmp(h.text[WEFT_REPLY_CALL_ARGUMENTS], "{\"on\": true}") == 0);
  CHECK(h.n[WEFT_REPLY_CALL_BEGIN] == 1 && h.n[WEFT_REPLY_CALL_END] == 1);
  OK(weft_reply_message_json(reply, &json, &error));
  CHECK(strncmp(json.data, "{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{", 48) == 0);
  CHECK(strstr(json.data, "\"arguments\":\"{\\\"on\\\": true}\"") != NULL);
  /* The message can be part of the next turn. */
  char messages[512];
  snprintf(messages, sizeof messages, "[{\"role\": \"user\", \"content\": \"Hi\"}, %s]", json.data);
  weft_chat_turn turn = new_turn(messages);
  weft_text rendered = render(&turn);
  CHECK(strstr(rendered.data, "switch") != NULL);
  weft_text_free(&rendered);
  weft_text_free(&json);
  REFUSED(WEFT_ERROR_ARGUMENT, "has ended", weft_reply_push(reply, "x", 1, NULL, NULL, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "has ended", weft_reply_finish(reply, NULL, NULL, &error));
  CHECK(weft_reply_free(reply) == WEFT_SUCCESS);
}

/* The end of a text decides what the beginning of a call is. */
static void truncated_calls_are_no_content(void) {
  static const char text[] = "{\"name\": \"switch\", \"argum";
  static const int32_t stops[] = {WEFT_STOP_MAX_TOKENS, WEFT_STOP_CONTEXT_FULL, WEFT_STOP_NONE,
                                  WEFT_STOP_END_OF_TEXT, WEFT_STOP_STRING};
  weft_error* error = NULL;
  for (size_t i = 0; i < sizeof stops / sizeof *stops; ++i) {
    weft_reply* reply = open_reply(tools);
    weft_text json = {NULL, 0};
    OK(weft_reply_push(reply, text, strlen(text), NULL, NULL, &error));
    OK(weft_reply_end(reply, stops[i], NULL, NULL, &error));
    OK(weft_reply_message_json(reply, &json, &error));
    CHECK((strstr(json.data, "argum") != NULL) == (i >= 3));
    weft_text_free(&json);
    REFUSED(WEFT_ERROR_ARGUMENT, "has ended", weft_reply_end(reply, 1, NULL, NULL, &error));
    weft_reply_free(reply);
  }
  weft_reply* reply = open_reply(tools);
  REFUSED(WEFT_ERROR_ARGUMENT, "stop must be from 0 to 7, got 8",
          weft_reply_end(reply, 8, NULL, NULL, &error));
  weft_reply_free(reply);
}

static void early_calls_come_while_they_are_written(void) {
  static const char text[] = "{\"name\": \"switch\", \"arguments\": {\"on\": ";
  weft_error* error = NULL;
  for (int early = 0; early < 2; ++early) {
    weft_reply* reply = open_reply_of(tools, early);
    heard h;
    memset(&h, 0, sizeof h);
    OK(weft_reply_push(reply, text, strlen(text), hear, &h, &error));
    CHECK(h.n[WEFT_REPLY_CALL_BEGIN] == early);
    OK(weft_reply_push(reply, "oops", 4, hear, &h, &error));
    CHECK(h.n[WEFT_REPLY_CALL_DROPPED] == early);
    OK(weft_reply_finish(reply, hear, &h, &error));
    CHECK(strstr(h.text[WEFT_REPLY_CONTENT], "oops") != NULL);
    weft_reply_free(reply);
  }
}

typedef struct again {
  weft_reply* reply;
  weft_status status;
} again;

static int32_t push_again(void* user, const weft_reply_event* event) {
  again* a = user;
  a->status = weft_reply_push(a->reply, event->text, event->text_size, NULL, NULL, NULL);
  return 0;
}

static void replies_refuse_what_they_cannot_read(void) {
  weft_error* error = NULL;
  again a = {open_reply(NULL), WEFT_SUCCESS};
  weft_text json = {NULL, 0};
  OK(weft_reply_push(a.reply, "Hi", 2, push_again, &a, &error));
  OK(weft_reply_push(a.reply, " \xff", 2, NULL, NULL, &error)); /* models generate any bytes */
  OK(weft_reply_finish(a.reply, push_again, &a, &error));
  CHECK(a.status == WEFT_ERROR_BUSY);
  OK(weft_reply_message_json(a.reply, &json, &error));
  CHECK(strcmp(json.data, "{\"role\":\"assistant\",\"content\":\"Hi \xef\xbf\xbd\"}") == 0);
  weft_text_free(&json);
  weft_reply_free(a.reply);
  a.reply = open_reply(NULL);
  REFUSED(WEFT_ERROR_ARGUMENT, "`text` is NULL",
          weft_reply_push(a.reply, NULL, 1, NULL, NULL, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "no array has",
          weft_reply_push(a.reply, "x", (size_t)1 << 63, NULL, NULL, &error));
  OK(weft_reply_push(a.reply, NULL, 0, NULL, NULL, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`json` is NULL", weft_reply_message_json(a.reply, NULL, &error));
  weft_reply_free(a.reply);
  REFUSED(WEFT_ERROR_HANDLE, "the reply was freed", weft_reply_finish(a.reply, NULL, NULL, &error));
  REFUSED(WEFT_ERROR_HANDLE, "the chat plan is NULL", weft_reply_open(NULL, &a.reply, &error));
}

const test_case reply_tests[] = {
    {"replies are read as they come", replies_are_read_as_they_come},
    {"truncated calls are no content", truncated_calls_are_no_content},
    {"early calls come while they are written", early_calls_come_while_they_are_written},
    {"replies refuse what they cannot read", replies_refuse_what_they_cannot_read},
    {NULL, NULL}};
