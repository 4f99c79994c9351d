/* Chats, turns and their texts, for tests. */
#ifndef WEFT_C_TESTS_CHATS_H
#define WEFT_C_TESTS_CHATS_H

#include "check.h"

static const char tools[] =
    "[{\"type\": \"function\", \"function\": {\"name\": \"switch\", \"parameters\": {\"type\": "
    "\"object\", \"properties\": {\"on\": {\"type\": \"boolean\"}}, \"required\": [\"on\"]}}}]";

static weft_chat* open_chat(void) {
  weft_error* error = NULL;
  weft_chat* chat = NULL;
  OK(weft_chat_open(stories(), "chatml", &chat, &error));
  return chat;
}

static weft_chat_turn new_turn(const char* messages) {
  weft_chat_turn turn;
  CHECK(weft_chat_turn_init(&turn, sizeof turn) == WEFT_SUCCESS);
  turn.messages = messages;
  return turn;
}

/* The rendered turn; the caller frees it. */
static weft_text render(const weft_chat_turn* turn) {
  weft_error* error = NULL;
  weft_text text = {NULL, 0};
  weft_chat* chat = open_chat();
  OK(weft_chat_render(chat, turn, &text, &error));
  CHECK(weft_chat_free(chat) == WEFT_SUCCESS);
  return text;
}

#endif
