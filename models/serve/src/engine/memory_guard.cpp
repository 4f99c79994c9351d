#include "engine/memory_guard.h"

#include <algorithm>
#include <utility>

#include "weft/base/human_numbers.h"
#include "weft/run/kept_texts.h"

#include "engine/engine_inbox.h"
#include "engine/engine_stepper.h"
#include "engine/sequence_store.h"
#include "pacing/memory_watch.h"

namespace weft::serve {
namespace {

constexpr std::int64_t kNarrow = 32;       // tokens of prompts in a step when memory is short
constexpr int kEvictionsBetweenLooks = 8;  // a look takes some 100 us

std::string refusal(const WatchedRoom& room) {
  return fmt::format(
      "no new requests while memory is short: {} are left of {} ({}), at least {} are needed, and "
      "nothing else can be given up",
      human_bytes(std::max<std::int64_t>(room.bytes, 0)), human_bytes(room.limit), room.name,
      human_bytes(short_of(room)));
}

}  // namespace

MemoryGuard::MemoryGuard(Session& session, SequenceStore& store, EngineStepper& stepper,
                         EngineInbox& inbox, const MemoryGuardOptions& options)
    : session_(session),
      store_(store),
      stepper_(stepper),
      inbox_(inbox),
      options_(options),
      latest_(std::make_unique<WatchedRoom>()) {
  if (!options.on) return;
  const auto tell = [this](const WatchedRoom& room) {
    {
      const std::lock_guard lock(mutex_);
      *latest_ = room;
      if (std::exchange(told_, true)) return;
    }
    const auto run = [this] {
      std::unique_lock lock(mutex_);
      told_ = false;
      const WatchedRoom newest = *latest_;
      lock.unlock();
      react(newest);
    };
    const bool first = !std::exchange(was_short_, is_short(room));
    inbox_.post({.run = run, .is_urgent = first && is_short(room)});
  };
  watch_ = std::make_unique<MemoryWatch>([this] { return this->room(); }, tell);
}

MemoryGuard::~MemoryGuard() = default;

// Mapped weights are read in every step: dropping their pages would not help.
WatchedRoom MemoryGuard::room() const {
  if (options_.room) return {options_.room()};
  const MemoryUse& use = session_.memory();
  return {memory_room(use.weights_mapped),
          std::max<std::int64_t>(0, use.total() - use.weights_mapped - anonymous_bytes())};
}

// Evicts until there is enough, or nothing to evict. Returns what there is then.
WatchedRoom MemoryGuard::give_up(WatchedRoom room) {
  bool idle = inbox_.state().n_running == 0;
  for (bool evicted = true; evicted && !is_enough(room);) {
    evicted = false;
    for (int i = 0; i < kEvictionsBetweenLooks && store_.evict(); ++i) evicted = true;
    release_unused(session_, idle);
    room = this->room();
  }
  return room;
}

void MemoryGuard::react(const WatchedRoom& before) {
  const WatchedRoom room = is_short(before) ? give_up(before) : before;
  const auto next = [](MemoryLevel level, int step) {
    return static_cast<MemoryLevel>(static_cast<int>(level) + step);
  };
  if (is_short(room))
    set_level(level_ == MemoryLevel::refusing ? level_ : next(level_, 1), room);
  else if (is_enough(room))
    set_level(MemoryLevel::enough, room);
  else
    set_level(std::max(std::min(level_, MemoryLevel::narrow), MemoryLevel::evicting), room);
}

void MemoryGuard::set_level(MemoryLevel level, const WatchedRoom& room) {
  stepper_.set_max_prompt_tokens(level >= MemoryLevel::narrow ? kNarrow : 0);
  inbox_.update_state([&](EngineState& s) {
    s.memory_level = level;
    s.memory_room = room.bytes;
    s.why_refused = level == MemoryLevel::refusing ? refusal(room) : "";
    if (level != level_) ++s.counters.memory_levels;
  });
  if (level != level_ && options_.warn)
    options_.warn(fmt::format("memory: {} left of {} ({}): {}",
                              human_bytes(std::max<std::int64_t>(room.bytes, 0)),
                              human_bytes(room.limit), room.name, to_string(level)));
  level_ = level;
}

}  // namespace weft::serve
