#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <sys/mman.h>

#include "weft/base/error.h"
#include "weft/base/processor.h"
#include "weft/scheduler/best_pass.h"
#include "weft/scheduler/machine_limits.h"

namespace weft::bench {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kMinBytes = 64 * kMiB, kDefaultBytes = 256 * kMiB;
constexpr std::int64_t kHugePage = 2 * kMiB, kSmallPage = 4096;
// In every way, so that large caches do not make measuring slow.
constexpr std::int64_t kReadBytes = 2048 * kMiB;

// Pages of one kind; none if the system refuses.
class Pages {
 public:
  Pages(std::int64_t n_bytes, bool huge)
      : n_mapped_(static_cast<std::size_t>(n_bytes + kHugePage)),
        mapped_(
            mmap(nullptr, n_mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (mapped_ == MAP_FAILED) return;
    madvise(mapped_, n_mapped_, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    const auto address = reinterpret_cast<std::uintptr_t>(mapped_);
    data_ = static_cast<std::byte*>(mapped_) + (kHugePage - address % kHugePage) % kHugePage;
  }
  ~Pages() {
    if (mapped_ != MAP_FAILED) munmap(mapped_, n_mapped_);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  std::byte* data() const { return data_; }

 private:
  std::size_t n_mapped_;
  void* mapped_;
  std::byte* data_ = nullptr;
};

// A method to read memory: the number of parallel streams, and the prefetching.
struct Way {
  int streams;
  enum { plain, ahead, ahead_once } prefetch;  // once: not to be kept in caches

  std::string text() const {
    static const char* const kinds[] = {"no prefetch", "prefetch", "non-temporal prefetch"};
    return fmt::format("{} stream{} a thread, {}", streams, streams > 1 ? "s" : "",
                       kinds[prefetch]);
  }
};
constexpr Way kWays[] = {{1, Way::plain}, {1, Way::ahead}, {1, Way::ahead_once},
                         {4, Way::plain}, {4, Way::ahead}, {4, Way::ahead_once}};
constexpr std::int64_t kAhead = 2048;  // bytes
constexpr std::int64_t kPiece = 256;   // bytes of a stream at a time

// Loads every line in a way that the compiler cannot remove. Inlined into functions for several
// instruction sets: with wider loads, there are fewer instructions between two misses.
template <int Streams, int Prefetch>
[[gnu::always_inline]] inline void read_streams(const std::byte* data, std::int64_t n_bytes) {
  using Line = long long __attribute__((vector_size(64)));
  const std::int64_t part = n_bytes / Streams;
  Line sums[Streams] = {};
  for (std::int64_t at = 0; at < part; at += kPiece) {
    for (int s = 0; s < Streams; ++s) {
      const std::byte* piece = data + s * part + at;
      for (std::int64_t i = 0; i < kPiece; i += 64) {
        if (Prefetch == Way::ahead) __builtin_prefetch(piece + i + kAhead, 0, 3);
        if (Prefetch == Way::ahead_once) __builtin_prefetch(piece + i + kAhead, 0, 0);
        sums[s] ^= *reinterpret_cast<const Line*>(piece + i);
      }
    }
  }
  Line sum = {};
  for (const Line& s : sums) sum ^= s;
  volatile long long sink = sum[0] ^ sum[7];
  static_cast<void>(sink);
}

[[gnu::always_inline]] inline void read_in(const Way& way, const std::byte* data,
                                           std::int64_t n_bytes) {
  const bool one = way.streams == 1;
  switch (way.prefetch) {
    case Way::plain:
      return one ? read_streams<1, Way::plain>(data, n_bytes)
                 : read_streams<4, Way::plain>(data, n_bytes);
    case Way::ahead:
      return one ? read_streams<1, Way::ahead>(data, n_bytes)
                 : read_streams<4, Way::ahead>(data, n_bytes);
    case Way::ahead_once:
      return one ? read_streams<1, Way::ahead_once>(data, n_bytes)
                 : read_streams<4, Way::ahead_once>(data, n_bytes);
  }
}

void read_widest(const Way& way, const std::byte* data, std::int64_t n) {
  run_on_widest_vectors([&]() __attribute__((always_inline)) { read_in(way, data, n); });
}

}  // namespace

std::int64_t last_level_cache() {
  std::int64_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) +
                       "/size");
    std::int64_t size = 0;
    char unit = 0;
    if (file >> size >> unit && unit == 'K') largest = std::max(largest, size << 10);
    if (unit == 'M') largest = std::max(largest, size << 20);
  }
  return largest;
}

ReadLimit measure_reads(int threads, std::int64_t max_bytes, const std::atomic<bool>* cancel) {
  ReadLimit best{.threads = threads, .cache_bytes = last_level_cache()};
  if (max_bytes < kMinBytes) return best;
  const std::int64_t wanted = std::min(std::max(kDefaultBytes, 4 * best.cache_bytes), max_bytes);
  const std::int64_t whole = wanted / threads >= kHugePage ? kHugePage : kSmallPage;
  const std::int64_t share = wanted / threads / whole * whole;
  best.bytes = share * threads;
  const int passes = static_cast<int>(std::max<std::int64_t>(kReadBytes / best.bytes, 2));
  for (const bool huge : {true, false}) {
    const Pages pages(best.bytes, huge);
    if (pages.data() == nullptr) continue;
    bool written = false;
    for (const Way& way : kWays) {
      if (cancel && *cancel) fail<CancelledError>("the measurement was cancelled");
      const double seconds = best_pass(
          threads, passes,
          [&](int i) {
            if (!written) std::memset(pages.data() + i * share, 1, static_cast<std::size_t>(share));
          },
          [&](int i) { read_widest(way, pages.data() + i * share, share); });
      written = true;
      const double rate = static_cast<double>(best.bytes) / seconds;
      if (rate <= best.bytes_per_second) continue;
      best.bytes_per_second = rate;
      best.how = fmt::format("{} pages, {}", huge ? "huge" : "small", way.text());
    }
  }
  return best;
}

}  // namespace weft::bench
