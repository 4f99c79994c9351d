#include "pacing/memory_watch.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace weft::serve {
namespace {

// How long it waits until it looks again, with little memory left and with much.
constexpr std::chrono::milliseconds kOften{50}, kSeldom{400};
// The part of the limit that should stay free, and its bounds: what a neighbour takes until the
// watch looks again.
constexpr std::int64_t kShare = 16, kLeast = std::int64_t{16} << 20,
                       kMost = std::int64_t{256} << 20;
// What the kernel takes for the process, beside what is planned.
constexpr std::int64_t kSlack = std::int64_t{8} << 20;
// Tasks that wait for memory for that part of the time mean that the kernel searches for pages.
constexpr double kStalled = 0.1;

}  // namespace

std::int64_t short_of(const WatchedRoom& room) {
  const std::int64_t share = std::clamp(room.limit / kShare, kLeast, kMost);
  return std::clamp(room.planned, kSlack, share);
}

std::int64_t enough_of(const WatchedRoom& room) {
  return 2 * short_of(room);
}

bool is_short(const WatchedRoom& room) {
  return room.bytes < short_of(room) ||
         (room.stalled > kStalled && room.bytes < 2 * enough_of(room));
}

bool is_enough(const WatchedRoom& room) {
  return room.bytes >= enough_of(room) && !is_short(room);
}

MemoryWatch::MemoryWatch(std::function<WatchedRoom()> room,
                         std::function<void(const WatchedRoom& room)> short_or_over)
    : room_(std::move(room)),
      short_or_over_(std::move(short_or_over)),
      thread_([this] { loop(); }) {}

MemoryWatch::~MemoryWatch() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  stops_changed_.notify_all();
  thread_.join();
}

void MemoryWatch::loop() {
  bool was_short = false;
  auto wait = kSeldom;
  std::unique_lock lock(mutex_);
  while (!stops_changed_.wait_for(lock, wait, [this] { return stops_; })) {
    lock.unlock();
    const WatchedRoom room = room_();
    const bool tells = is_short(room) || was_short;
    wait = room.bytes < 4 * enough_of(room) ? kOften : kSeldom;
    was_short = is_short(room) || (was_short && !is_enough(room));
    if (tells) short_or_over_(room);
    lock.lock();
  }
}

}  // namespace weft::serve
