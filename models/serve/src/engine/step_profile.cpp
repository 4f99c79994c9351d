#include "engine/step_profile.h"

#include <algorithm>

#include "engine/engine_slots.h"

namespace weft::serve {
namespace {

const auto watcher_of = [](const EngineSlot* slot) -> const std::shared_ptr<StepWatcher>& {
  return slot->text->request->wanted.watcher;
};

// Kernel calls of one worker in the largest step.
std::size_t max_calls(const Session& session) {
  std::int64_t max = 0;
  for (std::size_t i = 0; i < session.n_step_plans(); ++i)
    max = std::max(max, session.plan(i).calls());
  return static_cast<std::size_t>(max);
}

}  // namespace

NodeObserver* StepProfile::begin(std::span<EngineSlot* const> slots) {
  if (std::ranges::none_of(slots, [](const EngineSlot* s) { return watcher_of(s) != nullptr; }))
    return nullptr;
  if (!profiler_)
    profiler_ = std::make_unique<Profiler>(session_.options().workers, max_calls(session_));
  lengths_before_.clear();
  for (const EngineSlot* slot : slots)
    lengths_before_.push_back(std::ssize(slot->text->generation->held()));
  profiler_->clear();
  begin_ns_ = profiler_->now_ns();
  return profiler_.get();
}

void StepProfile::notify_watchers(std::span<EngineSlot* const> slots) {
  WatchedStep step{session_, *profiler_, 0, 0, 0, begin_ns_, profiler_->now_ns()};
  const auto n_of = [&](std::size_t i) {
    return std::ssize(slots[i]->text->generation->held()) - lengths_before_[i];
  };
  for (std::size_t i = 0; i < slots.size(); ++i) {
    step.n_tokens += n_of(i);
    step.depth += n_of(i) * lengths_before_[i];
  }
  if (step.n_tokens == 0) return;
  step.depth /= step.n_tokens;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::shared_ptr<StepWatcher>& watcher = watcher_of(slots[i]);
    const auto is_same = [&](const EngineSlot* slot) { return watcher_of(slot) == watcher; };
    if (!watcher || std::ranges::any_of(slots.first(i), is_same)) continue;
    step.n_watched = 0;
    for (std::size_t j = i; j < slots.size(); ++j)
      if (is_same(slots[j])) step.n_watched += n_of(j);
    if (step.n_watched == 0) continue;
    notify(*slots[i]->text->request, [&](TextListener&) { watcher->on_step(step); });
  }
}

}  // namespace weft::serve
