// Profiles of the steps that somebody watches. Other steps have no overhead.
#include <algorithm>

#include "engine/engine_impl.h"

namespace weft {

using namespace serve;

namespace {

const auto watcher_of = [](const auto* slot) -> const std::shared_ptr<StepWatcher>& {
  return slot->text->request->wanted.watcher;
};

// Of one worker in one step.
std::size_t max_calls(const Session& session) {
  std::int64_t max = 0;
  for (std::size_t i = 0; i < session.n_step_plans(); ++i)
    max = std::max(max, session.plan(i).calls());
  return static_cast<std::size_t>(max);
}

}  // namespace

// The observer of a step of these texts; null if nobody watches it.
NodeObserver* Engine::Impl::begin_watching(std::span<Slot* const> some) {
  if (std::ranges::none_of(some, [](const Slot* slot) { return watcher_of(slot) != nullptr; }))
    return nullptr;
  if (!profiler)
    profiler = std::make_unique<Profiler>(session.options().workers, max_calls(session));
  watched_lengths.clear();
  for (const Slot* slot : some)
    watched_lengths.push_back(std::ssize(slot->text->generation->held()));
  profiler->clear();
  watched_begin_ns = profiler->now_ns();
  return profiler.get();
}

// REQUIRES: `some` are those of begin_watching(), and none has ended.
void Engine::Impl::tell_watchers(std::span<Slot* const> some) {
  WatchedStep step{session, *profiler, 0, 0, 0, watched_begin_ns, profiler->now_ns()};
  const auto n_of = [&](std::size_t i) {
    return std::ssize(some[i]->text->generation->held()) - watched_lengths[i];
  };
  for (std::size_t i = 0; i < some.size(); ++i) {
    step.n_tokens += n_of(i);
    step.depth += n_of(i) * watched_lengths[i];
  }
  if (step.n_tokens == 0) return;
  step.depth /= step.n_tokens;
  for (std::size_t i = 0; i < some.size(); ++i) {
    const std::shared_ptr<StepWatcher>& watcher = watcher_of(some[i]);
    const auto is_same = [&](const Slot* slot) { return watcher_of(slot) == watcher; };
    if (!watcher || std::ranges::any_of(some.first(i), is_same)) continue;
    step.n_watched = 0;
    for (std::size_t j = i; j < some.size(); ++j)
      if (is_same(some[j])) step.n_watched += n_of(j);
    if (step.n_watched == 0) continue;
    notify(*some[i]->text->request, [&](TextListener&) { watcher->on_step(step); });
  }
}

}  // namespace weft
