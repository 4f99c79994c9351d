#include "weights/weight_loader.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "weft/base/checksum.h"
#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/pages.h"
#include "weft/files/tensor_pages.h"
#include "weft/graph/row_layout.h"
#include "weft/quantize/row_converter.h"

#include "weights/weight_cache.h"
#include "weights/weight_chunks.h"

namespace weft::run {
namespace {

// Copies rows of a tensor whose rows are in another order or in several places.
void copy_reordered(const Chunk& c, std::byte* to) {
  const PlacedWeight& w = *c.weight;
  if (w.dtype == w.tensor->spec.dtype)
    return weft::copy_rows(*w.tensor, c.first, c.last, to + c.first * c.row_bytes);
  // Packs them as a tensor of only these rows: whole granules of the layout, except in the last
  // chunk.
  std::vector<std::byte> rows(c.n_bytes());
  weft::copy_rows(*w.tensor, c.first, c.last, rows.data());
  w.dtype.layout()->pack(w.dtype, rows.data(), to + c.first * c.row_bytes, c.last - c.first,
                         c.row_bytes, 0, c.last - c.first);
}

// Converts the rows to another type, and then to the layout of the weight, if it has one.
void convert_rows(std::string_view file, const Chunk& c, std::byte* to) {
  const PlacedWeight& w = *c.weight;
  const CheckpointTensor& tensor = *w.tensor;
  const DType type = w.dtype.plain();
  const std::int64_t n_rows = c.last - c.first;
  const std::int64_t row_elems = tensor.spec.shape.elems() / c.n_rows;
  const std::int64_t n_cols = tensor.spec.shape.last();
  const std::int64_t row_bytes = type.bytes(row_elems);
  std::byte* const place = to + c.first * row_bytes;
  const std::byte* from = nullptr;
  std::vector<std::byte> in_order, plain;
  if (tensor.runs.empty()) {
    from = tensor.data + c.first * c.row_bytes;
  } else {
    in_order.resize(c.n_bytes());
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
  // As a tensor of only these rows, as above.
  if (const RowLayout* layout = w.dtype.layout())
    layout->pack(w.dtype, plain.data(), place, n_rows, row_bytes, 0, n_rows);
}

void copy_chunk(std::string_view file, const Chunk& c, std::byte* region) {
  const PlacedWeight& w = *c.weight;
  std::byte* const to = region + w.offset;
  if (w.converts) return convert_rows(file, c, to);
  if (!w.tensor->runs.empty()) return copy_reordered(c, to);
  if (w.dtype == w.tensor->spec.dtype) {
    weft::copy_rows(*w.tensor, c.first, c.last, to + c.first * c.row_bytes);
  } else {
    w.dtype.layout()->pack(w.dtype, w.tensor->data, to, c.n_rows, c.row_bytes, c.first, c.last);
  }
}

// Unmaps the file's pages of copied chunks, and evicts them from the page cache if that is wanted.
class PageReleaser {
 public:
  PageReleaser(const Checkpoint& file, std::span<const Chunk> chunks, const LoadOptions& options)
      : chunks_(chunks), copied_(chunks.size()), lag_(2 * n_threads(options)) {
    if (!options.drop_cache) return;
    for (const std::string& path : file.part_paths()) droppers_.emplace_back(path);
  }
  // Unmaps a chunk at once, because earlier chunks may still wait for the disk. Unmaps it again
  // when all earlier chunks were copied: faults also map neighbouring pages, in large folios up to
  // a chunk.
  void copied(const Chunk& c) {
    for (const RowSource& from : c.sources()) {
      if (from.last) unmap_source(from);
    }
    for (const Chunk& chunk : releasable(c)) release(chunk);
  }
  // REQUIRES: no thread copies any more.
  void end() {
    for (; released_ < chunks_.size(); ++released_) release(chunks_[released_]);
  }

 private:
  void release(const Chunk& c) const {
    for (const RowSource& from : c.sources()) {
      if (!from.last) continue;
      unmap_source(from);
      if (droppers_.empty()) continue;
      droppers_[static_cast<std::size_t>(from.part)].drop(from.file_offset, from.bytes.size());
    }
  }

  // The chunks that can be released after c was copied.
  std::span<const Chunk> releasable(const Chunk& c) {
    const std::lock_guard lock(mutex_);
    copied_[static_cast<std::size_t>(&c - chunks_.data())] = true;
    while (n_copied_ < chunks_.size() && copied_[n_copied_]) ++n_copied_;
    const std::size_t first = released_;
    released_ = std::max(released_, n_copied_ - std::min(n_copied_, lag_));
    return chunks_.subspan(first, released_ - first);
  }

  std::span<const Chunk> chunks_;
  std::mutex mutex_;
  std::vector<bool> copied_;
  std::size_t n_copied_ = 0, released_ = 0;  // all chunks before this one were copied; released
  std::size_t lag_;
  std::vector<CacheDropper> droppers_;
};

// Gives the checksums of chunks, which are in the order of weights, to the identity if the chunks
// are the pieces that it counts.
void add_sums(std::span<const Chunk> chunks, std::span<const std::uint64_t> sums,
              Identity& identity) {
  for (std::size_t i = 0; i < chunks.size();) {
    const PlacedWeight* weight = chunks[i].weight;
    std::size_t end = i;
    while (end < chunks.size() && chunks[end].weight == weight) ++end;
    if (chunk_rows(*weight) == piece_rows(*weight->tensor))
      identity.add(*weight->tensor, sums.subspan(i, end - i));
    i = end;
  }
}

// Reads all pages of a mapped region, in pieces, and returns its checksum.
std::uint64_t prefault_region(std::span<const std::byte> region, const std::string& path,
                              const LoadOptions& options) {
  constexpr std::size_t kPiece = std::size_t{64} << 20;
  Checksum sum;
  for (std::size_t at = 0; at < region.size(); at += kPiece) {
    const auto share = static_cast<double>(at) / static_cast<double>(region.size());
    if (options.progress && !options.progress(share)) fail<CancelledError>("loading was cancelled");
    const auto piece = region.subspan(at, std::min(kPiece, region.size() - at));
    weft::read_ahead(region.subspan(at).first(std::min(2 * kPiece, region.size() - at)));
    if (!weft::prefault(piece)) fail<IoError>("{}: cannot be read", path);
    sum.add(piece);
  }
  if (options.progress) options.progress(1);
  return sum.value();
}

}  // namespace

ReadOptions read_options(const LoadOptions& options) {
  return {.threads = options.threads, .release_pages = true, .progress = options.progress};
}

ResidentWeights::ResidentWeights(const Checkpoint& file, Identity& identity, WeightLayout layout,
                                 const LoadOptions& options)
    : layout_(std::move(layout)) {
  for (const PlacedWeight& w : layout_.weights)
    if (w.offset != kInFile) placed_.emplace(w.tensor->name, &w);
  if (options.weight_cache.empty()) {
    fill(file, identity, options);
    return;
  }
  const WeightCache cache(options.weight_cache, file, layout_);
  if (map_cached(file, identity, cache, options)) return;
  fill(file, identity, options);
  try {
    cache.store([&](const WeightCache::Write& write) {
      write(region_.bytes());
      return identity.contents(read_options(options));
    });
  } catch (const CancelledError&) {
    throw;
  } catch (const Error& e) {
    if (options.warn) options.warn(fmt::format("{}; the packed weights were not kept", e.what()));
  }
}

// False if the region must be filled.
bool ResidentWeights::map_cached(const Checkpoint& file, Identity& identity,
                                 const WeightCache& cache, const LoadOptions& options) {
  std::optional<MappedFile> mapped = open_cached(file, identity, cache, layout_, options, true);
  if (!mapped) return false;
  mapped_ = std::move(*mapped);
  mapped_path_ = cache.path();
  data_ = cache.region(mapped_).data();
  return true;
}

void ResidentWeights::fill(const Checkpoint& file, Identity& identity, const LoadOptions& options) {
  region_ = Buffer(layout_.region_bytes);
  data_ = region_.data();
  const std::vector<Chunk> chunks = region_chunks(layout_);
  // Checksums make loading from the page cache a tenth slower, so they are left to those who need
  // the identity later, unless the file would have to be read from disk again for it.
  const bool sums_up = options.drop_cache || !options.weight_cache.empty();
  std::vector<std::uint64_t> sums(sums_up ? chunks.size() : 0);
  PageReleaser releaser(file, chunks, options);
  for_all(chunks, options, [&](const Chunk& c) {
    prefault(file, c);
    if (sums_up)
      sums[static_cast<std::size_t>(&c - chunks.data())] =
          piece_checksum(*c.weight->tensor, c.first, c.last);
    copy_chunk(file.path(), c, region_.data());
    releaser.copied(c);
  });
  releaser.end();
  unmap_tensors(file);  // also neighbours of what was read
  file.check_mapped();
  if (sums_up) add_sums(chunks, sums, identity);
}

void ResidentWeights::check_mapped() const {
  if (mapped_.failed()) refuse_missing_pages(mapped_path_);
}

const std::byte* ResidentWeights::find(std::string_view name, DType dtype) const {
  const auto it = placed_.find(name);
  const bool has = it != placed_.end() && it->second->dtype == dtype;
  return has ? data_ + it->second->offset : nullptr;
}

std::optional<MappedFile> open_cached(const Checkpoint& file, Identity& identity,
                                      const WeightCache& cache, const WeightLayout& layout,
                                      const LoadOptions& options, bool reads_region) {
  try {
    std::optional<MappedFile> mapped = cache.open();
    if (!mapped) return std::nullopt;
    const std::span<const std::byte> region = cache.region(*mapped);
    if (reads_region) cache.check_region(*mapped, prefault_region(region, cache.path(), options));
    const bool unchanged = cache.has_stamp(*mapped) && !identity.known_contents();
    if (!unchanged) cache.check_contents(*mapped, identity.contents(read_options(options)));
    for (const PlacedWeight& w : layout.weights) {
      if (w.offset == kInFile) continue;
      const std::vector<std::byte> rows = first_rows(file, w, 1);
      if (std::memcmp(rows.data(), region.data() + w.offset, rows.size()) != 0)
        fail<FormatError>("{}: has other values of '{}' than {}", cache.path(),
                          printable(w.tensor->name), file.path());
    }
    if (unchanged) identity.set_contents(cache.contents(*mapped));
    if (!reads_region) weft::release_pages(region);
    return mapped;
  } catch (const CancelledError&) {
    throw;
  } catch (const Error& e) {
    if (options.warn) options.warn(fmt::format("{}; packing the weights again", e.what()));
    return std::nullopt;
  }
}

View ResidentWeights::view(std::string_view name) const {
  const auto it = placed_.find(name);
  if (it == placed_.end()) return {};
  const PlacedWeight& w = *it->second;
  const Shape& shape = w.tensor->spec.shape;
  View view{.data = const_cast<std::byte*>(data_) + w.offset,
            .dtype = w.dtype,
            .n_dims = shape.n_dims(),
            .row_stride = w.dtype.bytes(shape.elems() / std::max<std::int64_t>(1, shape[0].bound))};
  for (int i = 0; i < shape.n_dims(); ++i) view.dims[static_cast<std::size_t>(i)] = shape[i].bound;
  return view;
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
    prefault(file, chunk);
    copy_chunk(file.path(), chunk, bytes.data());
  }
  return bytes;
}

std::vector<std::byte> first_rows(const Checkpoint& file, const PlacedWeight& placed,
                                  std::int64_t max_bytes) {
  PlacedWeight weight = placed;
  weight.offset = 0;
  std::vector<Chunk> chunks;
  add_chunks(weight, chunks);
  Chunk& c = chunks.front();
  const RowLayout* layout = weight.dtype.layout();
  const std::int64_t granule = layout ? layout->granule : 1;
  const std::int64_t row_bytes = weight.dtype.bytes(weight.tensor->spec.shape.elems() / c.n_rows);
  c.last = std::min(c.last, std::max(max_bytes / row_bytes / granule, std::int64_t{1}) * granule);
  std::vector<std::byte> rows(static_cast<std::size_t>(c.last * row_bytes));
  prefault(file, c);
  copy_chunk(file.path(), c, rows.data());
  return rows;
}

void prefault_mapped(const Checkpoint& file, const WeightLayout& layout,
                     const LoadOptions& options) {
  std::vector<Chunk> chunks;
  for (const PlacedWeight& w : layout.weights) {
    if (w.offset == kInFile && w.whole && !w.streamed) add_chunks(w, chunks);
  }
  for_all(chunks, options, [&](const Chunk& c) { prefault(file, c); });
}

}  // namespace weft::run
