#include "exchange/sum_chunks.h"

#include <algorithm>

namespace weft::scheduler {
namespace {

constexpr std::int64_t kChunkBytes = 128 << 10;
constexpr std::int64_t kMaxChunks = 8;
// Columns, if there are enough: a multiple of what kernels compute at once.
constexpr std::int64_t kGranule = 64;
// What 1 Gbit/s carries in 0.5 ms: more than the latency of links that are fit for sums.
constexpr std::int64_t kBytesOfAMessage = 64 << 10;

// Whether scattered sums save enough bytes per rank for another message: (n - 1) b bytes become
// 2 (n - 1) b / n.
bool saves_bytes(std::int64_t ranks, std::int64_t bytes) {
  return ranks > 2 && (ranks - 1) * (ranks - 2) * bytes / ranks >= kBytesOfAMessage;
}

}  // namespace

std::int64_t SumChunks::widest() const {
  std::int64_t most = 0;
  for (std::size_t c = 0; c < ends.size(); ++c) most = std::max(most, width(c));
  return most;
}

std::int64_t SumChunks::n_sent(int from, int to) const {
  if (!scattered) return std::ssize(ends);
  std::int64_t n = 0;
  for (std::size_t c = 0; c < ends.size(); ++c) n += is_owner(to, c) || is_owner(from, c);
  return n;
}

Block Blocks::operator[](std::int64_t i) const {
  const auto chunk = static_cast<std::size_t>(i / of_chunk());
  const std::int64_t row = i % of_chunk() * rows_per_message;
  return {.chunk = chunk,
          .row = row,
          .rows = std::min(rows_per_message, rows - row),
          .col = chunks.begin(chunk),
          .cols = chunks.width(chunk)};
}

SumChunks sum_chunks(int ranks, std::int64_t rows, std::int64_t cols) {
  const std::int64_t bytes = rows * cols * 4;
  const std::int64_t granule = cols >= ranks * kGranule ? kGranule : 1;
  const std::int64_t granules = (cols + granule - 1) / granule;
  SumChunks chunks{
      .ends = {}, .scattered = granules >= ranks && saves_bytes(ranks, bytes), .ranks = ranks};
  std::int64_t n = std::clamp<std::int64_t>(bytes / kChunkBytes, 1, std::min(kMaxChunks, granules));
  if (chunks.scattered) n = std::max<std::int64_t>(1, n / ranks) * ranks;
  for (std::int64_t c = 1; c <= n; ++c)
    chunks.ends.push_back(std::min(cols, granules * c / n * granule));
  return chunks;
}

}  // namespace weft::scheduler
