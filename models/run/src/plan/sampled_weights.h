#pragma once
// Substitutes for the weights of a model whose speed is to be forecast: some of each kind, in turn.
// Kernels compute with them as fast as with the real ones, and they are larger than the caches of
// processors, but small.

#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/backends/memory.h"
#include "weft/files/checkpoint.h"
#include "weft/run/session.h"

#include "weights/weight_layout.h"

namespace weft::run {

class SampledWeights {
 public:
  // The weights of a layout. Those of a kind have up to `kind_bytes`, but at least one of them.
  // Those that would be mapped are: as many of each kind as others have in memory. Throws IoError
  // if the file cannot be read.
  SampledWeights(const Checkpoint& file, const WeightLayout& layout, std::int64_t kind_bytes);

  // The address of the substitute for a weight of the layout.
  const std::byte* find(std::string_view name) const { return places_.at(name); }
  std::int64_t bytes() const;  // allocated
  static std::int64_t bytes_for(const WeightLayout& layout, std::int64_t kind_bytes);

 private:
  using Kind = std::vector<const PlacedWeight*>;  // weights of a shape and a type
  void place(const Checkpoint& file, const Kind& kind, std::int64_t kind_bytes);

  std::vector<Buffer> memory_;
  std::unordered_map<std::string_view, const std::byte*> places_;
};

// As many samples as the budget has room for, but not more than are useful.
std::int64_t kind_bytes_for(const WeightLayout& layout, const PlannedModel& planned);

// Null unless the options ask for samples. Throws UnsupportedError if a device has weights,
// IoError.
std::unique_ptr<const SampledWeights> open_samples(const Model& model, const PlannedModel& planned);

}  // namespace weft::run
