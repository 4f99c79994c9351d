#include "weight_loader.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "weft/base/error.h"
#include "weft/files/pages.h"
#include "weft/files/tensor_pages.h"
#include "weft/graph/row_layout.h"
#include "weft/quantize/row_converter.h"

namespace weft::run {
namespace {

constexpr std::int64_t kChunkBytes = std::int64_t{2} << 20;
constexpr std::size_t kChunksAhead = 8;  // that are being read from disk meanwhile
// More would not copy faster, and each has some chunks that stand in memory twice.
constexpr std::size_t kMostThreads = 16;

std::size_t n_threads(const LoadOptions& options) {
  return std::min(static_cast<std::size_t>(options.threads), kMostThreads);
}

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
  const RowLayout* layout = weight.dtype.layout();
  const std::int64_t granule = layout ? layout->granule : 1;
  const std::int64_t step = std::max<std::int64_t>(1, kChunkBytes / row_bytes / granule) * granule;
  for (std::int64_t r = 0; r < n_rows; r += step)
    chunks.push_back({&weight, r, std::min(r + step, n_rows), n_rows, row_bytes});
}

void bring_in(const Checkpoint& file, const Chunk& c) {
  prefault_rows(file, *c.weight->tensor, c.row_bytes, c.first, c.last);
}

// What went wrong first, in the order of the chunks, whichever thread met it.
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

// Calls `work` for all chunks on several threads, the caller's among them, in about their order.
// After something was thrown no chunk is begun any more.
template <class Work>
void for_all(std::span<const Chunk> chunks, const LoadOptions& options, Work work) {
  if (chunks.empty()) return;
  std::atomic<std::size_t> next{0}, done{0};
  FirstError error;
  const auto take = [&] {
    const std::size_t i = next.fetch_add(1, std::memory_order_relaxed);
    if (i >= chunks.size()) return false;
    if (i == 0) {
      for (const Chunk& c : chunks.first(std::min(kChunksAhead, chunks.size())))
        read_ahead(c.bytes());
    }
    if (i + kChunksAhead < chunks.size()) read_ahead(chunks[i + kChunksAhead].bytes());
    try {
      work(chunks[i]);
    } catch (...) {
      error.keep(i, std::current_exception());
      next = chunks.size();
    }
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

  report();
  // Declared last: on an exception nothing is left to take before the threads are waited for.
  struct Stop {
    std::atomic<std::size_t>& next;
    std::size_t end;
    ~Stop() { next = end; }
  };
  std::vector<std::jthread> threads;
  const Stop stop{next, chunks.size()};
  const std::size_t n = std::min(n_threads(options), chunks.size());
  try {
    for (std::size_t i = 1; i < n; ++i) threads.emplace_back([&] { take_all([] {}); });
  } catch (const std::system_error&) {
    // The threads there are do it all.
  }
  take_all(report);
  threads.clear();
  error.rethrow();
  report();
}

// Rows whose order changes on the way: they come from anywhere in the tensor, but from the chunk's
// own surroundings, since heads are narrower.
void copy_reordered(const Chunk& c, std::byte* to) {
  const PlacedWeight& w = *c.weight;
  if (w.dtype == w.tensor->spec.dtype)
    return weft::copy_rows(*w.tensor, c.first, c.last, to + c.first * c.row_bytes);
  // As a tensor of these rows alone: whole granules of the layout, but for the last chunk.
  std::vector<std::byte> rows(c.bytes().size());
  weft::copy_rows(*w.tensor, c.first, c.last, rows.data());
  w.dtype.layout()->pack(w.dtype, rows.data(), to + c.first * c.row_bytes, c.last - c.first,
                         c.row_bytes, 0, c.last - c.first);
}

// Converts the rows to another type, and from there to the layout of the weight, if it has one.
void convert_rows(std::string_view file, const Chunk& c, std::byte* to) {
  const PlacedWeight& w = *c.weight;
  const CheckpointTensor& tensor = *w.tensor;
  const DType type = w.dtype.plain();
  const std::int64_t n_rows = c.last - c.first;
  const std::int64_t row_elems = tensor.spec.shape.elems() / c.n_rows;
  const std::int64_t n_cols = tensor.spec.shape.last();
  const std::int64_t row_bytes = type.bytes(row_elems);
  std::byte* const place = to + c.first * row_bytes;
  const std::byte* from = c.bytes().data();
  std::vector<std::byte> in_order, plain;
  if (tensor.paired_rows != 0) {
    in_order.resize(c.bytes().size());
    weft::copy_rows(tensor, c.first, c.last, in_order.data());
    from = in_order.data();
  }
  if (w.dtype.layout()) plain.resize(static_cast<std::size_t>(n_rows * row_bytes));
  const std::int64_t rows_of_cols = row_elems / n_cols;
  quantize::RowConverter converter;
  const quantize::BadWeight bad = converter.convert(
      *find_format(tensor.spec.dtype), *find_format(type), from,
      plain.empty() ? place : plain.data(), n_rows * rows_of_cols, n_cols, nullptr, false);
  if (bad.found()) quantize::refuse(file, tensor, type, c.first * rows_of_cols, bad);
  // As a tensor of these rows alone, as above.
  if (const RowLayout* layout = w.dtype.layout())
    layout->pack(w.dtype, plain.data(), place, n_rows, row_bytes, 0, n_rows);
}

void copy_chunk(std::string_view file, const Chunk& c, std::byte* region) {
  const PlacedWeight& w = *c.weight;
  std::byte* const to = region + w.offset;
  if (w.converts) return convert_rows(file, c, to);
  if (w.tensor->paired_rows != 0) return copy_reordered(c, to);
  if (w.dtype == w.tensor->spec.dtype) {
    const auto bytes = c.bytes();
    std::memcpy(to + c.first * c.row_bytes, bytes.data(), bytes.size());
  } else {
    w.dtype.layout()->pack(w.dtype, w.tensor->data, to, c.n_rows, c.row_bytes, c.first, c.last);
  }
}

// Takes the file's pages of chunks that were copied out of this process, and out of the system's
// cache where that is wanted.
class LettingGo {
 public:
  LettingGo(const Checkpoint& file, std::span<const Chunk> chunks, const LoadOptions& options)
      : chunks_(chunks), copied_(chunks.size()), lag_(2 * n_threads(options)) {
    if (!options.drop_cache) return;
    for (const std::string& path : file.part_paths()) droppers_.emplace_back(path);
  }
  // At once, since the chunks before it may still wait for the disk. Then once more, when all
  // before it were copied, too: faults map neighbours along, in large folios up to a chunk of them.
  void copied(const Chunk& c) {
    release_pages(c.bytes());
    for (const Chunk& chunk : behind(c)) let_go_of(chunk);
  }
  // REQUIRES: no thread copies any more.
  void end() {
    for (; gone_ < chunks_.size(); ++gone_) let_go_of(chunks_[gone_]);
  }

 private:
  void let_go_of(const Chunk& c) const {
    release_pages(c.bytes());
    if (droppers_.empty()) return;
    const CheckpointTensor& tensor = *c.weight->tensor;
    droppers_[static_cast<std::size_t>(tensor.part)].drop(
        tensor.file_offset + static_cast<std::uint64_t>(c.first * c.row_bytes), c.bytes().size());
  }

  // What can be let go of once more, now that c was copied.
  std::span<const Chunk> behind(const Chunk& c) {
    const std::lock_guard lock(mutex_);
    copied_[static_cast<std::size_t>(&c - chunks_.data())] = true;
    while (before_ < chunks_.size() && copied_[before_]) ++before_;
    const std::size_t first = gone_;
    gone_ = std::max(gone_, before_ - std::min(before_, lag_));
    return chunks_.subspan(first, gone_ - first);
  }

  std::span<const Chunk> chunks_;
  std::mutex mutex_;
  std::vector<bool> copied_;
  std::size_t before_ = 0, gone_ = 0;  // all chunks before it were copied; are gone
  std::size_t lag_;
  std::vector<CacheDropper> droppers_;
};

}  // namespace

ResidentWeights::ResidentWeights(const Checkpoint& file, WeightLayout layout,
                                 const LoadOptions& options)
    : layout_(std::move(layout)), region_(layout_.region_bytes) {
  std::vector<Chunk> chunks;
  for (const PlacedWeight& w : layout_.weights) {
    if (w.offset == kInFile) continue;
    offsets_.emplace(w.tensor->name, w.offset);
    add_chunks(w, chunks);
  }
  LettingGo letting_go(file, chunks, options);
  for_all(chunks, options, [&](const Chunk& c) {
    bring_in(file, c);
    copy_chunk(file.path(), c, region_.data());
    letting_go.copied(c);
  });
  letting_go.end();
}

const std::byte* ResidentWeights::find(std::string_view name) const {
  const auto it = offsets_.find(name);
  return it == offsets_.end() ? nullptr : region_.data() + it->second;
}

std::vector<std::byte> read_weight(const Checkpoint& file, const CheckpointTensor& tensor,
                                   DType dtype) {
  const PlacedWeight weight{.tensor = &tensor,
                            .dtype = dtype,
                            .offset = 0,
                            .converts = dtype.plain() != tensor.spec.dtype};
  std::vector<std::byte> bytes(static_cast<std::size_t>(dtype.bytes(tensor.spec.shape.elems())));
  std::vector<Chunk> chunks;
  add_chunks(weight, chunks);
  for (const Chunk& chunk : chunks) {
    bring_in(file, chunk);
    copy_chunk(file.path(), chunk, bytes.data());
  }
  return bytes;
}

void bring_in_mapped(const Checkpoint& file, const WeightLayout& layout,
                     const LoadOptions& options) {
  std::vector<Chunk> chunks;
  for (const PlacedWeight& w : layout.weights) {
    if (w.offset == kInFile && w.whole) add_chunks(w, chunks);
  }
  for_all(chunks, options, [&](const Chunk& c) { bring_in(file, c); });
}

}  // namespace weft::run
