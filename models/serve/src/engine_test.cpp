// Many texts at the same time: the same texts as alone, cancellation, errors, the queue.
#include "weft/serve/engine.h"

#include "weft/base/error.h"

#include "engine_test_support.h"

namespace weft {
namespace {

using test::Collector;
using test::tiny_model;
using test::written_alone;
using Ids = std::vector<TokenId>;

Ids prompt_of(int i, int n) {
  Ids ids;
  for (int t = 0; t < n; ++t) ids.push_back((7 * i + t * t) % 50);
  return ids;
}

TEST_CASE("requests over few slots get the same texts as alone") {
  const auto model = tiny_model();
  Engine engine(model, {.slots = 4, .session = {.context = 150}});
  std::vector<TextRequest> requests;
  std::vector<std::shared_ptr<Collector>> listeners;
  for (int i = 0; i < 32; ++i) {
    TextRequest request{.prompt = prompt_of(i, 1 + i * 11 % 90)};
    request.generation.max_tokens = 3 + i % 20;
    request.generation.sampler.seed = static_cast<std::uint64_t>(i);
    if (i % 3 == 0) request.generation.sampler.temperature = 0;
    requests.push_back(request);
    listeners.push_back(std::make_shared<Collector>());
    engine.submit(request, listeners.back());
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    CAPTURE(i);
    listeners[i]->wait();
    REQUIRE_FALSE(listeners[i]->error());
    CHECK(listeners[i]->text(0).tokens == written_alone(model, requests[i]).tokens);
    CHECK(listeners[i]->text(0).stop == StopReason::max_tokens);
  }
  CHECK(engine.wait_idle(Clock::now() + std::chrono::seconds(60)));
  const EngineState state = engine.state();
  CHECK(state.n_running == 0);
  CHECK(state.n_waiting == 0);
  CHECK(state.counters.requests == 32);
  CHECK(state.counters.failed == 0);
}

TEST_CASE("a cancelled request ends alone") {
  const auto model = tiny_model();
  Engine engine(model, {.slots = 2, .session = {.context = 4000}});
  const auto endless = std::make_shared<Collector>(), other = std::make_shared<Collector>(),
             queued = std::make_shared<Collector>();
  TextRequest long_text{.prompt = prompt_of(1, 40)}, short_text{.prompt = prompt_of(2, 30)};
  long_text.generation.max_tokens = 3900;
  short_text.generation.max_tokens = 60;
  const RequestId a = engine.submit(long_text, endless);
  engine.submit(short_text, other);
  const RequestId c = engine.submit(short_text, queued);
  engine.cancel(c);
  queued->wait();
  CHECK(queued->text(0).stop == StopReason::cancelled);
  engine.cancel(a);
  endless->wait();
  CHECK(endless->text(0).stop == StopReason::cancelled);
  engine.cancel(a);  // has ended
  other->wait();
  CHECK(other->text(0).tokens == written_alone(model, short_text).tokens);
  CHECK(engine.state().counters.cancelled == 2);
}

}  // namespace
}  // namespace weft
