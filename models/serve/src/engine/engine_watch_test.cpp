// Profiles of the steps of one request among others.
#include <algorithm>
#include <future>
#include <memory>
#include <mutex>
#include <utility>

#include "weft/serve/engine.h"

#include "engine/engine_test_support.h"

namespace weft {
namespace {

using test::made_request;
using test::tiny_model;
using test::written_alone;

class Watcher : public StepWatcher {
 public:
  void on_step(const WatchedStep& step) override {
    const std::lock_guard lock(mutex_);
    const Plan& plan = step.session.plan(step.session.plan_for(step.n_tokens));
    std::int64_t calls = 0;
    for (int w = 0; w < step.profiler.workers(); ++w) {
      for (const ProfiledCall& call : step.profiler.calls(w)) {
        ++calls;
        is_sound = is_sound && call.begin_ns >= step.begin_ns && call.end_ns <= step.end_ns &&
                   call.step >= plan.steps.data() &&
                   call.step < plan.steps.data() + plan.steps.size();
      }
    }
    is_sound = is_sound && calls >= std::ssize(plan.steps) && step.profiler.dropped() == 0;
    n_tokens += step.n_watched;
    max_others = std::max(max_others, step.n_tokens - step.n_watched);
    depth = step.depth;
    ++n_steps;
  }

  bool is_sound = true;
  std::int64_t n_tokens = 0, max_others = 0, depth = 0;
  int n_steps = 0;

 private:
  std::mutex mutex_;
};

TEST_CASE("the steps of a request are profiled for it") {
  const auto model = tiny_model();
  Engine engine(model, {.slots = 3, .session = {.context = 400}});
  const auto watcher = std::make_shared<Watcher>();
  TextRequest watched = made_request(1, 50, 20);
  watched.watcher = watcher;
  const auto alone = test::run(engine, watched);
  CHECK(watcher->is_sound);
  CHECK(watcher->n_tokens == 50 + 19);  // the last token is not computed
  CHECK(watcher->max_others == 0);
  CHECK(watcher->depth == 50 + 18);
  CHECK(alone->text(0).tokens == written_alone(model, watched).tokens);

  // The tokens of a watcher's requests are counted together, also with those of others in a step.
  const auto all = std::make_shared<Watcher>();
  const auto other = std::make_shared<test::Collector>();
  TextRequest first = made_request(2, 60, 30), second = made_request(3, 40, 30);
  first.watcher = second.watcher = all;
  second.texts = 2;
  const auto both = std::make_shared<test::Collector>(2);
  engine.submit(first, other);
  engine.submit(second, both);
  other->wait();
  both->wait();
  CHECK(all->is_sound);
  CHECK(all->n_tokens == 60 + 29 + 40 + 1 + 2 * 29);  // the second text shares all but one token
  CHECK(all->max_others == 0);
}

// Lets the engine go on after the first token when the gate opens.
class Waiting : public test::Collector {
 public:
  explicit Waiting(std::shared_future<void> gate) : gate_(std::move(gate)) {}
  void on_token(std::int32_t text, const GenerationEvent& event) override {
    Collector::on_token(text, event);
    gate_.wait();
  }

 private:
  const std::shared_future<void> gate_;
};

TEST_CASE("a watched step says how many of its tokens are of others") {
  const auto model = tiny_model();
  Engine engine(model, {.slots = 2, .session = {.context = 400}});
  std::promise<void> submitted;
  const auto beside = std::make_shared<Waiting>(submitted.get_future().share());
  engine.submit(made_request(4, 10, 60), beside);
  beside->wait_for_tokens(1);
  const auto watcher = std::make_shared<Watcher>();
  TextRequest request = made_request(2, 1, 30);  // not paced like a long prompt
  request.watcher = watcher;
  const auto listener = std::make_shared<test::Collector>();
  engine.submit(request, listener);
  submitted.set_value();
  listener->wait();
  beside->wait();
  CHECK(listener->text(0).tokens == written_alone(model, request).tokens);
  CHECK(watcher->is_sound);
  CHECK(watcher->n_tokens == 1 + 29);
  CHECK(watcher->max_others == 1);
}

}  // namespace
}  // namespace weft
