#pragma once
// Pieces of weights, on which several threads work in about file order.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "weft/base/error.h"
#include "weft/files/identity.h"
#include "weft/files/pages.h"
#include "weft/files/tensor_pages.h"
#include "weft/graph/row_layout.h"

#include "weights/weight_loader.h"

namespace weft::run {

inline constexpr std::size_t kChunksAhead = 8;  // how many chunks to read ahead from disk
// More would not copy faster, and each holds some chunks in memory twice.
inline constexpr std::size_t kMaxThreads = 16;

inline std::size_t n_threads(const LoadOptions& options) {
  return std::min(static_cast<std::size_t>(options.threads), kMaxThreads);
}

// Some rows of a weight: the unit of work of a thread.
struct Chunk {
  const PlacedWeight* weight = nullptr;
  std::int64_t first = 0, last = 0, n_rows = 0, row_bytes = 0;

  std::size_t n_bytes() const { return static_cast<std::size_t>((last - first) * row_bytes); }
  std::vector<RowSource> sources() const { return row_sources(*weight->tensor, first, last); }
};

// The rows of a chunk: those of a piece of the model's identity, so that it can be summed up
// together, unless the layout needs other multiples.
inline std::int64_t chunk_rows(const PlacedWeight& weight) {
  const RowLayout* layout = weight.dtype.layout();
  const std::int64_t granule = layout ? layout->granule : 1;
  return (piece_rows(*weight.tensor) + granule - 1) / granule * granule;
}

inline void add_chunks(const PlacedWeight& weight, std::vector<Chunk>& chunks) {
  const std::int64_t row_bytes = weight.tensor->row_bytes();
  const std::int64_t n_rows = weight.tensor->n_rows();
  const std::int64_t step = chunk_rows(weight);
  for (std::int64_t r = 0; r < n_rows; r += step)
    chunks.push_back({&weight, r, std::min(r + step, n_rows), n_rows, row_bytes});
}

inline void prefault(const Checkpoint& file, const Chunk& c) {
  prefault_rows(file, *c.weight->tensor, c.first, c.last);
}

inline void read_ahead(const Chunk& c) {
  for (const RowSource& from : c.sources()) weft::read_ahead(from.bytes);
}

// Keeps the error of the first chunk that failed, in the order of chunks.
class FirstError {
 public:
  void keep(std::size_t chunk, std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (chunk >= chunk_) return;
    chunk_ = chunk;
    error_ = std::move(error);
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::size_t chunk_ = SIZE_MAX;
  std::exception_ptr error_;
};

// Gives chunks to several threads, in about their order. After something was thrown no chunk is
// begun any more.
template <class Work>
class ChunkQueue {
 public:
  // REQUIRES: chunks and work outlive the queue.
  ChunkQueue(std::span<const Chunk> chunks, const Work& work) : chunks_(chunks), work_(work) {}

  // Works on the next chunk. False if there is none.
  bool take() {
    const std::size_t i = next_.fetch_add(1, std::memory_order_relaxed);
    if (i >= chunks_.size()) return false;
    try {
      if (i == 0) {
        for (const Chunk& c : chunks_.first(std::min(kChunksAhead, chunks_.size()))) read_ahead(c);
      }
      if (i + kChunksAhead < chunks_.size()) read_ahead(chunks_[i + kChunksAhead]);
      work_(chunks_[i]);
    } catch (...) {
      error_.keep(i, std::current_exception());
      stop();
    }
    done_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  void stop() { next_ = chunks_.size(); }
  double share_done() const {
    return static_cast<double>(done_) / static_cast<double>(chunks_.size());
  }
  void rethrow() const { error_.rethrow(); }

 private:
  const std::span<const Chunk> chunks_;
  const Work& work_;
  std::atomic<std::size_t> next_{0}, done_{0};
  FirstError error_;
};

// Calls `work` for all chunks on several threads, the caller's among them.
template <class Work>
void for_all(std::span<const Chunk> chunks, const LoadOptions& options, const Work& work) {
  if (chunks.empty()) return;
  ChunkQueue<Work> queue(chunks, work);
  const auto report = [&] {
    if (options.progress && !options.progress(queue.share_done()))
      fail<CancelledError>("loading was cancelled");
  };
  report();
  // After an exception nothing is left to take when the threads are joined.
  struct Stop {
    ChunkQueue<Work>& queue;
    ~Stop() { queue.stop(); }
  };
  std::vector<std::jthread> threads;
  const Stop stop{queue};
  const std::size_t n = std::min(n_threads(options), chunks.size());
  try {
    for (std::size_t i = 1; i < n; ++i) {
      threads.emplace_back([&queue] {
        while (queue.take()) {
        }
      });
    }
  } catch (const std::system_error&) {
    // The threads that were started do all the work.
  }
  while (queue.take()) report();
  threads.clear();
  queue.rethrow();
  report();
}

// The chunks of all weights of the region, in file order.
inline std::vector<Chunk> region_chunks(const WeightLayout& layout) {
  std::vector<Chunk> chunks;
  for (const PlacedWeight& w : layout.weights)
    if (w.offset != kInFile) add_chunks(w, chunks);
  return chunks;
}

}  // namespace weft::run
