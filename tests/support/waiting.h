#pragma once
// For tests: waits for a condition.

#include <chrono>
#include <functional>
#include <thread>

namespace weft::test {

// Waits until `condition` holds; false if it never does.
inline bool eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(4);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace weft::test
