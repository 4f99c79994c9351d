// Many texts at the same time: the same texts as alone, cancellation, errors, the queue.
#include "weft/serve/engine.h"

#include <future>

#include "weft/base/error.h"
#include "weft/run/nan_error.h"

#include "engine/engine_test_support.h"
#include "generation/text_model_test_support.h"

namespace weft {
namespace {

using test::Collector;
using test::collectors;
using test::made_request;
using test::tiny_model;
using test::written_alone;

Clock::time_point soon() {
  return Clock::now() + std::chrono::seconds(60);
}

TEST_CASE("requests over few slots get the same texts as alone") {
  const auto model = tiny_model();
  Engine engine(model, {.slots = 4, .session = {.context = 150}});
  const auto listeners = collectors(32);
  std::vector<TextRequest> requests;
  for (int i = 0; i < 32; ++i) {
    requests.push_back(made_request(i, 1 + i * 11 % 90, 3 + i % 20));
    if (i % 3 == 0) requests.back().generation.sampler.temperature = 0;
    engine.submit(requests.back(), listeners[static_cast<std::size_t>(i)]);
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    CAPTURE(i);
    listeners[i]->wait();
    REQUIRE_FALSE(listeners[i]->error());
    CHECK(listeners[i]->text(0).tokens == written_alone(model, requests[i]).tokens);
    CHECK(listeners[i]->text(0).stop == StopReason::max_tokens);
    CHECK(listeners[i]->end(0).n_new == 3 + static_cast<int>(i) % 20);
    REQUIRE(listeners[i]->prompts().size() == 1);
    CHECK(listeners[i]->prompts()[0].n_prompt == std::ssize(requests[i].prompt));
    CHECK(listeners[i]->progress().back().first == std::ssize(requests[i].prompt));
  }
  CHECK(engine.wait_idle(soon()));
  const EngineState state = engine.state();
  CHECK(state.n_running == 0);
  CHECK(state.n_waiting == 0);
  CHECK(state.counters.requests == 32);
  CHECK(state.counters.failed == 0);
  CHECK(state.counters.cancelled == 0);
}

TEST_CASE("a warm-up leaves no trace") {
  const auto model = tiny_model();
  const TextRequest request = made_request(1, 20, 10);
  for (const std::int64_t context : {1, 150}) {
    Engine engine(model, {.slots = 2, .session = {.context = context}, .warm_up = true});
    const EngineState state = engine.state();
    CHECK(state.counters.steps == 0);
    CHECK(state.counters.prompt_tokens == 0);
    CHECK(state.slots[0].n_held == 0);
    if (context == 1) continue;
    const auto listener = test::run(engine, request);
    CHECK(listener->text(0).tokens == written_alone(model, request).tokens);
    CHECK(listener->prompts()[0].why_not_reused == "nothing is held");
  }
}

TEST_CASE("requests that arrive and leave at any time do not change other texts") {
  const auto model = tiny_model();
  Engine engine(model, {.slots = 3, .session = {.context = 300, .prefill_width = 16}});
  const auto listeners = collectors(24);
  std::vector<TextRequest> requests;
  std::vector<RequestId> ids;
  for (int i = 0; i < 24; ++i) {
    requests.push_back(made_request(i, 1 + i * 37 % 120, 5 + i * 7 % 40));
    ids.push_back(engine.submit(requests.back(), listeners[static_cast<std::size_t>(i)]));
    if (i % 5 == 2) listeners[static_cast<std::size_t>(i / 2)]->wait_for_tokens(2);
    if (i % 4 == 3) engine.cancel(ids[static_cast<std::size_t>(i - i % 3)]);
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    CAPTURE(i);
    listeners[i]->wait();
    const auto expected = written_alone(model, requests[i]).tokens;
    const auto& tokens = listeners[i]->text(0).tokens;
    if (listeners[i]->text(0).stop != StopReason::cancelled) CHECK(tokens == expected);
    REQUIRE(tokens.size() <= expected.size());
    CHECK(std::ranges::equal(tokens, std::span(expected).first(tokens.size())));
  }
}

TEST_CASE("when a text has ended, its guesses are counted") {
  const auto model = tiny_model();
  EngineOptions options{.slots = 2, .session = {.context = 200, .rewind = 8}};
  options.speculation = {
      .kinds = {DraftKind::ngram_simple}, .max_guesses = 8, .ngram_size = 1, .adaptive = false};
  Engine engine(model, options);
  std::int64_t n_drafted = 0, n_right = 0;
  for (int i = 0; i < 12; ++i) {
    TextRequest request = made_request(i, 20, 5 + i);
    request.generation.sampler.temperature = 0;
    const auto listener = test::run(engine, request);
    n_drafted += listener->end(0).n_drafted;
    n_right += listener->end(0).n_right;
    const EngineCounters counters = engine.state().counters;
    CHECK(counters.drafted == static_cast<std::uint64_t>(n_drafted));
    CHECK(counters.drafted_right == static_cast<std::uint64_t>(n_right));
  }
  CHECK(n_drafted > 0);
}

TEST_CASE("a cancelled request ends alone") {
  const auto model = tiny_model();
  Engine engine(model, {.slots = 2, .session = {.context = 4000}});
  const auto endless = std::make_shared<Collector>(), other = std::make_shared<Collector>(),
             queued = std::make_shared<Collector>();
  const TextRequest long_text = made_request(1, 40, 3900), short_text = made_request(2, 30, 60);
  const RequestId a = engine.submit(long_text, endless);
  engine.submit(short_text, other);
  const RequestId c = engine.submit(made_request(3, 30, 3000), queued);
  engine.cancel(c);
  queued->wait();
  CHECK(queued->text(0).stop == StopReason::cancelled);
  endless->wait_for_tokens(1);
  engine.cancel(a);
  endless->wait();
  CHECK(endless->text(0).stop == StopReason::cancelled);
  CHECK(std::ssize(endless->text(0).tokens) == endless->end(0).n_new);
  engine.cancel(a);  // has ended
  engine.cancel(12345);
  other->wait();
  CHECK(other->text(0).tokens == written_alone(model, short_text).tokens);
  CHECK(engine.wait_idle(soon()));
  CHECK(engine.state().counters.cancelled == 2);
}

TEST_CASE("the destructor cancels everything") {
  const auto listeners = collectors(5);
  {
    Engine engine(tiny_model(), {.slots = 2, .session = {.context = 4000}});
    for (int i = 0; i < 5; ++i)
      engine.submit(made_request(i, 500, 3000), listeners[static_cast<std::size_t>(i)]);
    listeners[0]->wait_for_prompt();
  }
  for (const auto& listener : listeners) CHECK(listener->text(0).stop == StopReason::cancelled);
}

TEST_CASE("a deadline cancels a request, running or waiting") {
  Engine engine(tiny_model(), {.slots = 1, .session = {.context = 4000}});
  const auto running = std::make_shared<Collector>(), waiting = std::make_shared<Collector>();
  TextRequest request = made_request(1, 40, 3900);
  request.deadline = Clock::now() + std::chrono::milliseconds(30);
  engine.submit(request, running);
  engine.submit(request, waiting);
  running->wait();
  waiting->wait();
  CHECK(running->text(0).stop == StopReason::cancelled);
  CHECK(waiting->text(0).stop == StopReason::cancelled);
  CHECK(waiting->text(0).tokens.empty());
}

TEST_CASE("texts of a request, also more than slots") {
  const auto model = tiny_model();
  for (const bool reuse : {true, false}) {
    Engine engine(model, {.slots = 3, .session = {.context = 200}});
    const auto listener = std::make_shared<Collector>(8);
    TextRequest request = made_request(7, 50, 20);
    request.texts = 8;
    request.reuse = reuse;
    engine.submit(request, listener);
    listener->wait();
    for (int i = 0; i < 8; ++i) {
      CAPTURE(i);
      CHECK(listener->text(i).tokens == written_alone(model, request, i).tokens);
    }
    CHECK(listener->text(0).tokens != listener->text(1).tokens);
    CHECK(listener->prompts().size() == 1);
    // The prompt, and its last token for the other texts.
    CHECK(engine.state().counters.prompt_tokens <= 50 + 7);
  }
}

// Holds the engine's thread at its first token until the gate is opened.
class Gate : public Collector {
 public:
  void on_token(std::int32_t text, const GenerationEvent& event) override {
    Collector::on_token(text, event);
    opened_.wait();
  }
  void open() { open_.set_value(); }

 private:
  std::promise<void> open_;
  std::shared_future<void> opened_ = open_.get_future();
};

TEST_CASE("the queue is bounded") {
  const auto model = tiny_model();
  const auto listeners = collectors(5);
  const auto running = std::make_shared<Gate>(), alone = std::make_shared<Gate>();
  Engine engine(model, {.slots = 1, .max_waiting = 1, .session = {.context = 4000}});
  const RequestId first = engine.submit(made_request(0, 5, 3900), running);
  const RequestId second = engine.submit(made_request(1, 5, 4), listeners[1]);
  // The engine's thread may be anywhere before the first token.
  CHECK_THROWS_AS(engine.submit(made_request(2, 5, 4), listeners[2]), QueueFullError);
  running->wait_for_tokens(1);
  CHECK_THROWS_AS(engine.submit(made_request(2, 5, 4), listeners[2]), QueueFullError);
  CHECK(engine.state().n_waiting == 1);
  CHECK(engine.state().n_running == 1);
  engine.cancel(second);
  running->open();
  listeners[1]->wait();
  engine.submit(made_request(3, 5, 4), listeners[3]);
  engine.cancel(first);
  listeners[3]->wait();
  CHECK(listeners[3]->text(0).tokens.size() == 4);

  Engine none_waits(model, {.slots = 1, .max_waiting = 0, .session = {.context = 4000}});
  const RequestId only = none_waits.submit(made_request(0, 5, 3900), alone);
  CHECK_THROWS_AS(none_waits.submit(made_request(2, 5, 4), listeners[2]), QueueFullError);
  alone->wait_for_tokens(1);
  CHECK_THROWS_AS(none_waits.submit(made_request(2, 5, 4), listeners[2]), QueueFullError);
  none_waits.cancel(only);
  alone->open();
  alone->wait();  // its slot is free then
  none_waits.submit(made_request(2, 5, 4), listeners[4]);
  listeners[4]->wait();
}

TEST_CASE("priorities and wishes for slots") {
  Engine engine(tiny_model(), {.slots = 2, .session = {.context = 4000}});
  const auto listeners = collectors(5);
  const RequestId a = engine.submit(made_request(0, 5, 3900), listeners[0]);
  const RequestId b = engine.submit(made_request(1, 5, 3900), listeners[1]);
  listeners[1]->wait_for_tokens(1);
  CHECK(listeners[0]->prompts()[0].slot != listeners[1]->prompts()[0].slot);
  const std::int32_t slot_b = listeners[1]->prompts()[0].slot;
  TextRequest wishes = made_request(2, 5, 3), low = made_request(3, 5, 3000),
              high = made_request(4, 5, 3000);
  wishes.slot = listeners[0]->prompts()[0].slot;
  low.priority = -1;
  high.priority = 1;
  engine.submit(wishes, listeners[2]);
  const RequestId c = engine.submit(low, listeners[3]);
  const RequestId d = engine.submit(high, listeners[4]);
  engine.cancel(b);
  listeners[4]->wait_for_tokens(1);
  CHECK(listeners[4]->prompts()[0].slot == slot_b);
  CHECK(listeners[2]->prompts().empty());
  CHECK(listeners[3]->prompts().empty());
  engine.cancel(a);
  listeners[2]->wait();
  CHECK(listeners[2]->prompts()[0].slot == wishes.slot);
  engine.cancel(c);
  engine.cancel(d);
  listeners[3]->wait();
}

TEST_CASE("a request that fails does not affect the others") {
  // With an output matrix of its own, so that logits are only NaN after token 49.
  const auto damaged =
      test::made_text_model({.arch = "llama",
                             .change =
                                 [](arch::MadeSource& source) {
                                   source.add("output.weight", {f32, {50, 64}});
                                 },
                             .weights =
                                 [](const std::string& name, std::vector<float>& values) {
                                   if (name == "token_embd.weight")
                                     std::fill(values.begin() + 49 * 64, values.end(), NAN);
                                 }});
  for (const std::size_t bad : {0, 1}) {
    const std::size_t good = 1 - bad;
    Engine engine(damaged, {.slots = 3, .session = {.context = 200}});
    const auto listeners = collectors(3);
    std::vector<TextRequest> requests{made_request(1, 20, 30), made_request(2, 20, 30),
                                      made_request(3, 20, 30)};
    for (TextRequest& r : requests) {
      std::ranges::replace(r.prompt, 49, 48);
      r.generation.sampler.logit_bias = {{49, -INFINITY}};
    }
    requests[bad].prompt[12] = 49;
    for (std::size_t i = 0; i < 3; ++i) engine.submit(requests[i], listeners[i]);
    for (const auto& listener : listeners) listener->wait();
    REQUIRE(listeners[bad]->error());
    CHECK_THROWS_AS(std::rethrow_exception(listeners[bad]->error()), NanError);
    for (std::size_t i = 0; i < 3; ++i)
      if (i != bad)
        CHECK(listeners[i]->text(0).tokens == written_alone(damaged, requests[i]).tokens);
    CHECK(engine.wait_idle(soon()));
    CHECK(engine.state().counters.failed == 1);
    // The slot can be used again.
    const auto after = collectors(3);
    for (std::size_t i = 0; i < 3; ++i) engine.submit(requests[good], after[i]);
    for (const auto& listener : after) {
      listener->wait();
      CHECK(listener->text(0).tokens == listeners[good]->text(0).tokens);
    }
  }
}

TEST_CASE("a request whose rules allow nothing fails alone") {
  const auto model = test::stories();
  Engine engine(model, {.slots = 2, .session = {.context = 200}});
  const auto stuck = std::make_shared<Collector>(), other = std::make_shared<Collector>();
  TextRequest wrong{.prompt = encode_prompt(*model, "Once upon a time")}, right = wrong;
  wrong.generation.max_tokens = right.generation.max_tokens = 20;
  wrong.generation.rules.grammar = Grammar::from_regex("abc");
  wrong.generation.rules.banned = {"a"};
  engine.submit(wrong, stuck);
  engine.submit(right, other);
  stuck->wait();
  other->wait();
  CHECK(stuck->error());
  CHECK(other->text(0).text == written_alone(model, right).text);
}

TEST_CASE("wrong requests are refused") {
  const auto model = tiny_model();
  Engine engine(model, {.slots = 2, .session = {.context = 100}});
  const auto refused = [&](auto change) {
    TextRequest request = made_request(1, 10, 5);
    change(request);
    CHECK_THROWS_AS(engine.submit(request, std::make_shared<Collector>()), ValueError);
  };
  refused([](TextRequest& r) { r.prompt.clear(); });
  refused([](TextRequest& r) { r.prompt.resize(101); });
  refused([](TextRequest& r) { r.prompt[3] = -1; });
  refused([](TextRequest& r) { r.prompt[3] = 1 << 20; });
  refused([](TextRequest& r) { r.texts = 0; });
  refused([](TextRequest& r) { r.slot = 2; });
  refused([](TextRequest& r) { r.slot = -2; });
  refused([](TextRequest& r) { r.generation.feed_last = true; });
  refused([](TextRequest& r) { r.generation.lora_scales = std::vector<float>{1}; });
  CHECK(engine.state().counters.requests == 0);
  CHECK_THROWS_AS(Engine(model, {.slots = 0}), ValueError);
  CHECK_THROWS_AS(Engine(model, {.slots = 1, .max_waiting = -1}), ValueError);
}

TEST_CASE("the end of a text says why") {
  const auto model = test::stories();
  Engine engine(model, {.slots = 2, .session = {.context = 60}});
  TextRequest request{.prompt = encode_prompt(*model, "Once upon a time")};
  request.generation.sampler.temperature = 0;
  const auto run = [&] { return test::run(engine, request); };
  CHECK(run()->text(0).stop == StopReason::context_full);
  request.generation.rules.stops = {"xyz", "."};
  const auto stopped = run();
  CHECK(stopped->text(0).stop == StopReason::stop_string);
  CHECK(stopped->end(0).stop_string == ".");
  CHECK(stopped->text(0).text.find('.') == std::string::npos);
  CHECK(stopped->end(0).n_new == std::ssize(stopped->text(0).tokens));
  request.generation.max_tokens = 0;
  const auto nothing = run();
  CHECK(nothing->text(0).stop == StopReason::max_tokens);
  CHECK(nothing->text(0).tokens.empty());
  CHECK(nothing->prompts().size() == 1);
}

}  // namespace
}  // namespace weft
