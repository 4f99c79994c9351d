#include "weight_loader.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "weft/graph/error.h"
#include "weft/ops/formats/panels.h"

#include "gguf/pages.h"

namespace weft {
namespace {

constexpr std::int64_t kChunkBytes = std::int64_t{2} << 20;
constexpr std::size_t kChunksAhead = 8;  // that are being read from disk meanwhile

// Some rows of a weight: what a thread takes at a time.
struct Chunk {
  const PlacedWeight* weight = nullptr;
  std::int64_t first = 0, last = 0, n_rows = 0, row_bytes = 0;

  std::span<const std::byte> bytes() const {
    return {weight->tensor->data + first * row_bytes,
            static_cast<std::size_t>((last - first) * row_bytes)};
  }
};

void add_chunks(const PlacedWeight& weight, std::vector<Chunk>& chunks) {
  const std::int64_t row_bytes = weight.tensor->spec.row_bytes();
  const std::int64_t n_rows = weight.tensor->n_bytes / row_bytes;
  const std::int64_t step =
      std::max<std::int64_t>(1, kChunkBytes / row_bytes / kPanelRows) * kPanelRows;
  for (std::int64_t r = 0; r < n_rows; r += step)
    chunks.push_back({&weight, r, std::min(r + step, n_rows), n_rows, row_bytes});
}

// Calls `work` for all chunks on several threads, the caller's among them, in about their order.
template <class Work>
void for_all(std::span<const Chunk> chunks, const LoadOptions& options, Work work) {
  if (chunks.empty()) return;
  std::atomic<std::size_t> next{0}, done{0};
  const auto take = [&] {
    const std::size_t i = next.fetch_add(1, std::memory_order_relaxed);
    if (i >= chunks.size()) return false;
    if (i == 0) {
      for (const Chunk& c : chunks.first(std::min(kChunksAhead, chunks.size())))
        read_ahead(c.bytes());
    }
    if (i + kChunksAhead < chunks.size()) read_ahead(chunks[i + kChunksAhead].bytes());
    work(chunks[i]);
    done.fetch_add(1, std::memory_order_relaxed);
    return true;
  };
  const auto take_all = [&](auto after_each) {
    while (take()) after_each();
  };
  const auto report = [&] {
    const double share = static_cast<double>(done) / static_cast<double>(chunks.size());
    if (options.progress && !options.progress(share)) fail<CancelledError>("loading was stopped");
  };

  // Declared last: on an exception nothing is left to take before the threads are waited for.
  struct Stop {
    std::atomic<std::size_t>& next;
    std::size_t end;
    ~Stop() { next = end; }
  };
  std::vector<std::jthread> threads;
  const Stop stop{next, chunks.size()};
  const auto n_threads =
      std::min<std::size_t>(static_cast<std::size_t>(options.threads), chunks.size());
  try {
    for (std::size_t i = 1; i < n_threads; ++i) threads.emplace_back([&] { take_all([] {}); });
  } catch (const std::system_error&) {
    // The threads there are do it all.
  }
  report();
  take_all(report);
  threads.clear();
  report();
}

void copy_rows(const Chunk& c, std::byte* region) {
  const PlacedWeight& w = *c.weight;
  std::byte* const to = region + w.offset;
  if (w.dtype == w.tensor->spec.dtype) {
    const auto bytes = c.bytes();
    std::memcpy(to + c.first * c.row_bytes, bytes.data(), bytes.size());
  } else {
    to_panels(w.dtype.plain(), w.tensor->data, to, c.n_rows, c.row_bytes, c.first, c.last);
  }
}

// What may be mapped for the chunk, and where that is in the file. Faults near its start mapped
// pages before it again that had been let go, so those go once more: otherwise they would add up.
struct Mapped {
  std::span<const std::byte> bytes;
  std::uint64_t offset;
};
Mapped mapped_for(const Chunk& c) {
  const auto bytes = c.bytes();
  const std::uint64_t offset =
      c.weight->tensor->file_offset + static_cast<std::uint64_t>(c.first * c.row_bytes);
  const std::uint64_t before = std::min(offset, kFaultAround);
  return {{bytes.data() - before, bytes.size() + before}, offset - before};
}

}  // namespace

ResidentWeights::ResidentWeights(const GgufFile& file, WeightLayout layout,
                                 const LoadOptions& options)
    : layout_(std::move(layout)), region_(layout_.region_bytes) {
  std::vector<Chunk> chunks;
  for (const PlacedWeight& w : layout_.weights) {
    if (w.offset == kInFile) continue;
    offsets_.emplace(w.tensor->name, w.offset);
    add_chunks(w, chunks);
  }
  std::vector<CacheDropper> droppers;
  if (options.drop_cache) {
    for (const std::string& path : file.part_paths()) droppers.emplace_back(path);
  }
  for_all(chunks, options, [&](const Chunk& c) {
    bring_in(c.bytes());
    copy_rows(c, region_.data());
    const Mapped mapped = mapped_for(c);
    let_go(mapped.bytes);
    if (droppers.empty()) return;
    droppers[static_cast<std::size_t>(c.weight->tensor->part)].drop(mapped.offset,
                                                                    mapped.bytes.size());
  });
}

const std::byte* ResidentWeights::find(std::string_view name) const {
  const auto it = offsets_.find(name);
  return it == offsets_.end() ? nullptr : region_.data() + it->second;
}

void bring_in_mapped(const WeightLayout& layout, const LoadOptions& options) {
  std::vector<Chunk> chunks;
  for (const PlacedWeight& w : layout.weights) {
    if (w.offset == kInFile && w.whole) add_chunks(w, chunks);
  }
  for_all(chunks, options, [](const Chunk& c) { bring_in(c.bytes()); });
}

}  // namespace weft
