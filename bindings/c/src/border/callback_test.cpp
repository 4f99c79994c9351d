#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

#include "weft/weft.h"

#include "support/source_tree.h"

namespace {

std::int32_t fail_callback(void*, const weft_reply_event*) {
  throw std::runtime_error("not today");
}

std::string text_and_free(weft_text text) {
  std::string copy(text.data, text.size);
  weft_text_free(&text);
  return copy;
}

weft_model* open_stories() {
  const auto path = weft::test::source_tree() / "examples/models/weft-stories.gguf";
  weft_model* model = nullptr;
  REQUIRE(weft_model_open(path.c_str(), nullptr, &model, nullptr) == WEFT_SUCCESS);
  return model;
}

TEST_CASE("after a callback that throws, a conversation is as before") {
  weft_model* model = open_stories();
  weft_session* session = nullptr;
  weft_conversation* conversation = nullptr;
  weft_error* error = nullptr;
  weft_text json{};
  std::int32_t stop = -1;
  REQUIRE(weft_session_open(model, nullptr, &session, nullptr) == WEFT_SUCCESS);
  weft_conversation_options options{};
  weft_conversation_options_init(&options, sizeof options);
  options.max_reply = 3;
  REQUIRE(weft_conversation_open(session, 0, &options, &conversation, nullptr) == WEFT_SUCCESS);
  CHECK(weft_conversation_say(conversation, "Hi", 2, "Once", fail_callback, nullptr, &stop,
                              &error) == WEFT_ERROR_CALLBACK);
  CHECK(std::string(weft_error_message(error)) == "a callback threw: not today");
  weft_error_free(error);
  REQUIRE(weft_conversation_messages_json(conversation, &json, nullptr) == WEFT_SUCCESS);
  CHECK(text_and_free(json) == "[]");
  CHECK(weft_conversation_say(conversation, "Hi", 2, nullptr, nullptr, nullptr, &stop, nullptr) ==
        WEFT_SUCCESS);
  weft_conversation_free(conversation);
  weft_session_free(session);
  weft_model_free(model);
}

TEST_CASE("after a callback that throws, a reply has what was pushed") {
  weft_model* model = open_stories();
  weft_chat* chat = nullptr;
  weft_chat_plan* plan = nullptr;
  weft_reply* reply = nullptr;
  weft_text json{};
  weft_chat_turn turn{};
  weft_chat_turn_init(&turn, sizeof turn);
  turn.messages = R"([{"role": "user", "content": "Hi"}])";
  REQUIRE(weft_chat_open(model, nullptr, &chat, nullptr) == WEFT_SUCCESS);
  REQUIRE(weft_chat_plan_open(chat, &turn, &plan, nullptr) == WEFT_SUCCESS);
  REQUIRE(weft_reply_open(plan, &reply, nullptr) == WEFT_SUCCESS);
  CHECK(weft_reply_push(reply, "So", 2, fail_callback, nullptr, nullptr) == WEFT_ERROR_CALLBACK);
  CHECK(weft_reply_push(reply, " it", 3, nullptr, nullptr, nullptr) == WEFT_SUCCESS);
  REQUIRE(weft_reply_message_json(reply, &json, nullptr) == WEFT_SUCCESS);
  CHECK(text_and_free(json) == R"({"role":"assistant","content":"So it"})");
  weft_reply_free(reply);
  weft_chat_plan_free(plan);
  weft_chat_free(chat);
  weft_model_free(model);
}

}  // namespace
