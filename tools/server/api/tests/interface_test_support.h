#pragma once
// For tests of readers and writers of the interfaces: calls without a server or an engine.

#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "weft/api/endpoints.h"
#include "weft/api/errors.h"
#include "weft/api/fields.h"
#include "weft/api/json.h"
#include "weft/api/text_run.h"
#include "weft/api/workers.h"

#include "api_test_support.h"

namespace weft::test {

class NoModels : public api::Models {
 public:
  void find(std::string_view, Ready) override {}
  std::vector<api::ListedModel> list() const override { return listed; }
  std::vector<api::ListedModel> listed;
};

struct Bench {
  NoModels models;
  api::Workers workers{1};
  api::Services services{models, workers};
  std::shared_ptr<api::test::FakeExchange> exchange;

  std::shared_ptr<api::ApiCall> call(api::ErrorForm form = api::ErrorForm::openai) {
    exchange = std::make_shared<api::test::FakeExchange>(http::Request{});
    auto call =
        std::make_shared<api::ApiCall>(api::ApiCall{.exchange = exchange, .services = services});
    call->form = form;
    auto model = std::make_shared<api::ServedModel>();
    model->name = "tiny";
    call->model = std::move(model);
    return call;
  }
  api::Json answer() const {
    REQUIRE(exchange->done);
    return api::parse_json(exchange->answer.body);
  }

  struct Event {
    std::string name;
    api::Json data;
  };
  std::vector<Event> events() const {
    REQUIRE(exchange->done);
    std::vector<Event> events;
    std::string name;
    for (const std::string& line : lines()) {
      if (line.starts_with("event: ")) name = line.substr(7);
      if (line.starts_with("data: ")) events.push_back({name, api::parse_json(line.substr(6))});
    }
    return events;
  }
  std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    std::string_view rest = exchange->answer.body;
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      if (!line.empty()) lines.emplace_back(line);
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    }
    return lines;
  }
};

// The answer of a run: reasoning, content and calls, piece by piece.
struct Script {
  std::vector<ReplyEvent> events;
  api::ChoiceEnd end{};

  void play(api::AnswerWriter& writer) const {
    writer.on_prompt(0, {.slot = 1, .n_prompt = 20, .n_reused = 8});
    for (const ReplyEvent& event : events) {
      api::TextDelta delta{.events = {event}, .text = event.text, .tokens = {7}, .logprobs = {}};
      writer.on_delta(0, delta);
    }
    writer.on_end(0, end);
    writer.on_done({.n_prompt = 20,
                    .n_reused = 8,
                    .n_new = end.n_tokens,
                    .n_reasoning = end.n_reasoning_tokens,
                    .slot = 1});
  }
};

inline ReplyEvent content(std::string text) {
  return {ReplyEvent::Kind::content, std::move(text), -1, ""};
}
inline ReplyEvent reasoning(std::string text) {
  return {ReplyEvent::Kind::reasoning, std::move(text), -1, ""};
}
inline std::vector<ReplyEvent> call(std::string name, std::vector<std::string> arguments) {
  std::vector<ReplyEvent> events{{ReplyEvent::Kind::call_begin, std::move(name), 0, ""}};
  for (std::string& piece : arguments)
    events.push_back({ReplyEvent::Kind::call_arguments, std::move(piece), 0, ""});
  events.push_back({ReplyEvent::Kind::call_end, "", 0, ""});
  return events;
}

// Thoughts, a text in two pieces, and a call.
inline Script full_script() {
  Script script;
  script.events = {reasoning("Hm"), reasoning("."), content("It "), content("is\n\"on\".")};
  for (ReplyEvent& event : call("set_lamp", {"{\"on\":", "true}"}))
    script.events.push_back(std::move(event));
  script.end = {.reason = api::ChoiceEnd::Reason::calls,
                .stop = StopReason::end_of_text,
                .n_tokens = 9,
                .n_reasoning_tokens = 2};
  return script;
}

// The error of a reader for a body: its path, and the message.
template <class T>
std::string refusal(const api::Fields<T>& fields, std::string_view body) {
  try {
    fields.read(api::parse_body(body));
  } catch (const api::ApiError& error) {
    CHECK(error.status == 400);
    return error.param;
  }
  return "accepted";
}

}  // namespace weft::test
