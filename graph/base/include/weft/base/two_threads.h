#pragma once
// For copies and checksums of much memory, of which one thread does not reach the machine's speed.

#include <atomic>
#include <cstdint>
#include <thread>

namespace weft {

// Calls f(0) .. f(n - 1), each once: if they are to read this many bytes, on the caller's thread
// and another one, in any order. Returns when all have. f must not throw.
template <class F>
void on_two_threads(std::size_t n, std::int64_t n_bytes, F f) {
  constexpr std::int64_t kWorthAThread = std::int64_t{8} << 20;
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < n; i = next++) f(i);
  };
  if (n < 2 || n_bytes < kWorthAThread || std::thread::hardware_concurrency() < 2) return work();
  std::thread other(work);
  work();
  other.join();
}

}  // namespace weft
