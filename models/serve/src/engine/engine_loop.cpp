// The engine's thread: requests become texts in the queue, texts get slots, steps compute them.
#include <algorithm>
#include <exception>
#include <utility>

#include "engine/engine_impl.h"

namespace weft {

using namespace serve;

namespace {

// What an engine that stops spends on texts that are not on the disk.
constexpr double kFinishSeconds = 10;

}  // namespace

void Engine::Impl::loop() {
  while (turn(false)) {
  }
  for (; !tasks.empty(); tasks.pop_front()) tasks.front().run();
  try {
    disk.finish(kFinishSeconds);
  } catch (const std::exception&) {  // what is not on the disk is computed again
  }
}

// `nested`: between the steps of a task. Returns false if the engine stops.
bool Engine::Impl::turn(bool nested) {
  bool continues = true;
  try {
    const bool has_work = is_busy() || !tasks.empty() || disk.has_work();
    continues = inbox.receive(nested || has_work, arrived, tasks);
    for (const auto& request : arrived) queue.add_texts_of(request);
    arrived.clear();
    run_tasks(nested);
    slots.end_cancelled();
    if (!continues) return false;
    slots.start_texts();
    stepper.step();
    disk.save_some();
  } catch (...) {  // lack of memory: sequences may hold other tokens than noted
    arrived.clear();
    slots.fail_all(std::current_exception());
  }
  return continues;
}

void Engine::Impl::run_tasks(bool nested) {
  const auto has_steps = [](const EngineInbox::Task& task) { return task.has_steps; };
  for (;;) {
    auto next = std::ranges::find_if_not(tasks, has_steps);
    if (next == tasks.end() && !nested) next = tasks.begin();
    if (next == tasks.end()) return;
    const EngineInbox::Task task = std::move(*next);
    tasks.erase(next);
    task.run();
    if (task.has_steps) return;
  }
}

bool Engine::Impl::is_busy() const {
  return !queue.empty() || slots.n_running() > 0;
}

}  // namespace weft
