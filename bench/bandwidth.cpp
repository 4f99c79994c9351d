#include "bandwidth.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "weft/backends/memory.h"

namespace weft::bench {
namespace {

constexpr std::int64_t kLeast = std::int64_t{64} << 20;
constexpr int kPasses = 4;

std::int64_t last_level_cache() {
  std::int64_t most = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) +
                       "/size");
    std::int64_t size = 0;
    char unit = 0;
    if (file >> size >> unit && unit == 'K') most = std::max(most, size << 10);
    if (unit == 'M') most = std::max(most, size << 20);
  }
  return most;
}

// Eight sums, so that no addition waits for the one before.
std::uint64_t read_all(const std::byte* data, std::size_t n_bytes) {
  std::uint64_t sums[8] = {};
  for (std::size_t at = 0; at + sizeof sums <= n_bytes; at += sizeof sums) {
    std::uint64_t words[8];
    std::memcpy(words, data + at, sizeof words);
    for (int i = 0; i < 8; ++i) sums[i] += words[i];
  }
  std::uint64_t sum = 0;
  for (const std::uint64_t s : sums) sum += s;
  return sum;
}

}  // namespace

Bandwidth measure_read_bandwidth(int threads, std::int64_t most_bytes) {
  Bandwidth result{.cache_bytes = last_level_cache(), .threads = threads};
  if (most_bytes < kLeast) return result;
  result.bytes = std::max(kLeast, std::min(4 * result.cache_bytes, most_bytes));
  Buffer buffer(result.bytes);
  std::memset(buffer.data(), 1, static_cast<std::size_t>(result.bytes));  // pages of its own

  std::atomic<std::uint64_t> sink = 0;  // what is read is used
  const std::int64_t share = result.bytes / threads / kAlignment * kAlignment;
  for (int pass = 0; pass < kPasses; ++pass) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> readers;
    for (int i = 0; i < threads; ++i) {
      readers.emplace_back(
          [&, i] { sink += read_all(buffer.data() + i * share, static_cast<std::size_t>(share)); });
    }
    for (std::thread& reader : readers) reader.join();
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    result.gb_per_second =
        std::max(result.gb_per_second, static_cast<double>(share) * threads / seconds / 1e9);
  }
  return result;
}

}  // namespace weft::bench
