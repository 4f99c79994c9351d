#include "engine/deadlines.h"

namespace weft::serve {

Deadlines::~Deadlines() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Deadlines::add(Clock::time_point when, Id id) {
  const std::lock_guard lock(mutex_);
  entries_.emplace(when, id);
  if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
  changed_.notify_one();
}

void Deadlines::loop() {
  std::unique_lock lock(mutex_);
  while (!stops_) {
    if (entries_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto [when, id] = entries_.top();
    if (Clock::now() < when) {
      changed_.wait_until(lock, when);
      continue;
    }
    entries_.pop();
    lock.unlock();
    expired_(id);
    lock.lock();
  }
}

}  // namespace weft::serve
