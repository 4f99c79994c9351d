#pragma once
// Brings the weights of a session into memory, by several threads in file order, so that the first
// step finds them there.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "weft/backends/memory.h"

#include "weight_layout.h"

namespace weft::run {

struct LoadOptions {
  int threads = 1;
  bool drop_cache = false;  // take what was copied out of the system's cache of the file, too
  std::function<bool(double)> progress;  // 0..1, on the caller's thread; false: CancelledError
};

// The region of a layout, filled. At no time are both the file's pages of a weight and its copy
// held, but for a few MiB that are being copied. Immutable: any number of sessions may share it.
class ResidentWeights {
 public:
  // Throws IoError where the memory cannot be had or the file cannot be read, FormatError where
  // weights that are to be converted are not finite, CancelledError, and what `progress` throws.
  ResidentWeights(const Checkpoint& file, WeightLayout layout, const LoadOptions& options);

  const WeightLayout& layout() const { return layout_; }
  std::int64_t bytes() const { return region_.size(); }
  const std::byte* find(std::string_view name) const;  // null: it stays in the file

 private:
  WeightLayout layout_;
  Buffer region_;
  std::unordered_map<std::string_view, std::int64_t> offsets_;
};

// One weight in the type that a graph gives it, rows in the graph's order. Throws IoError if the
// file cannot be read, FormatError as ResidentWeights does.
std::vector<std::byte> read_weight(const Checkpoint& file, const CheckpointTensor& tensor,
                                   DType dtype);

// Reads those weights that stay in the file and that every step reads whole. Throws IoError where
// it cannot be read, CancelledError and what `progress` throws.
void bring_in_mapped(const Checkpoint& file, const WeightLayout& layout,
                     const LoadOptions& options);

}  // namespace weft::run
