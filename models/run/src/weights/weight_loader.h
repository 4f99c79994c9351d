#pragma once
// Loads the weights of a session, with several threads and in file order, so that they are in
// memory before the first step.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/backends/memory.h"
#include "weft/files/identity.h"
#include "weft/files/mapped_file.h"
#include "weft/graph/view.h"

#include "weights/weight_layout.h"

namespace weft::run {

class WeightCache;

struct LoadOptions {
  int threads = 1;
  std::string weight_cache;  // folder of weight caches (weight_cache.h); empty: none
  // Something was wrong with the weight cache, which costs time only.
  std::function<void(const std::string&)> warn;
  bool drop_cache = false;               // also evict copied pages from the page cache
  std::function<bool(double)> progress;  // 0..1, on the caller's thread; false: CancelledError
};

// The filled region of a layout, in private memory or mapped from a weight cache. While it is
// filled, only a few MiB of weights are in memory twice, as pages of the file and as copies.
// Immutable: any number of sessions may share it.
class ResidentWeights {
 public:
  // Adds the checksums that it computes to the identity of the file. Throws IoError if memory
  // cannot be allocated or the file cannot be read, FormatError if weights to be converted are not
  // finite, CancelledError, and any exception of `progress`.
  ResidentWeights(const Checkpoint& file, Identity& identity, WeightLayout layout,
                  const LoadOptions& options);

  const WeightLayout& layout() const { return layout_; }
  std::int64_t bytes() const { return layout_.region_bytes; }
  // Null: it stays in the file, or has another type in the region.
  const std::byte* find(std::string_view name, DType dtype) const;
  // The same weight in the type that it has. No data: it stays in the file.
  View view(std::string_view name) const;
  bool failed() const { return mapped_.failed(); }  // the weight cache lost bytes
  // Throws IoError if the weight cache lost bytes while it was mapped.
  void check_mapped() const;

 private:
  void fill(const Checkpoint& file, Identity& identity, const LoadOptions& options);
  bool map_cached(const Checkpoint& file, Identity& identity, const WeightCache& cache,
                  const LoadOptions& options);

  WeightLayout layout_;
  Buffer region_;      // empty if the region is mapped
  MappedFile mapped_;  // a weight cache, or nothing
  std::string mapped_path_;
  const std::byte* data_ = nullptr;
  std::unordered_map<std::string_view, const PlacedWeight*> placed_;
};

// One weight in the type that a graph gives it, with rows in the graph's order. Throws IoError if
// the file cannot be read, FormatError like ResidentWeights.
std::vector<std::byte> read_weight(const Checkpoint& file, const CheckpointTensor& tensor,
                                   DType dtype);

// The first rows of a weight as they are in a region: whole granules of its layout, at least one,
// of up to `max_bytes` and at most a chunk (weight_chunks.h). Throws like read_weight().
std::vector<std::byte> first_rows(const Checkpoint& file, const PlacedWeight& weight,
                                  std::int64_t max_bytes);

// The weight cache of a layout if it is there and was made of the model, else none, after a
// warning. Only with `reads_region` are all of its bytes read and checked: those of a cache from
// which weights are streamed do not fit into memory. Throws CancelledError.
std::optional<MappedFile> open_cached(const Checkpoint& file, Identity& identity,
                                      const WeightCache& cache, const WeightLayout& layout,
                                      const LoadOptions& options, bool reads_region);

// How the contents of a model are read for its identity.
ReadOptions read_options(const LoadOptions& options);

// Reads and maps the weights that stay in the file and that every step reads completely. Throws
// IoError if the file cannot be read, CancelledError, and any exception of `progress`.
void prefault_mapped(const Checkpoint& file, const WeightLayout& layout,
                     const LoadOptions& options);

}  // namespace weft::run
