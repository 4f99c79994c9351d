#pragma once
// Where the weights of a session lie: in the mapped file, or in one region of memory of our own, in
// the types that the session's graphs give them. Known from the file's header alone.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/files/checkpoint.h"
#include "weft/graph/graph.h"

namespace weft::run {

inline constexpr std::int64_t kInFile = -1;

struct PlacedWeight {
  const CheckpointTensor* tensor = nullptr;  // the model's
  DType dtype;                               // as the graph has it
  std::int64_t offset = kInFile;             // in the region
  bool converts = false;  // to another type than in the file, not only its layout
  bool whole = false;     // every step reads all of it, not only some rows
  friend bool operator==(const PlacedWeight&, const PlacedWeight&) = default;
};

struct WeightLayout {
  std::vector<PlacedWeight> weights;  // in file order
  std::int64_t region_bytes = 0;      // as allocated
  std::int64_t mapped_bytes = 0;      // of weights that stay in the file
  std::int64_t table_bytes = 0;       // of those: a step reads only some rows
  bool changes_types = false;         // some weight has another type than in the file
  friend bool operator==(const WeightLayout&, const WeightLayout&) = default;
};

// `resident`: every weight that a step reads whole goes into the region, in file order. Otherwise
// all stay in the file but those whose rows are in another order there. Weights that the graph
// wants in a type that the file does not have are converted on their way into the region: Throws
// Error where they would have to stay in the file, or are quantized there. Weights `off_host` are
// left out: only devices read them.
WeightLayout layout_weights(const Checkpoint& file, const Graph& graph, bool resident,
                            const std::vector<std::string>& off_host = {});

}  // namespace weft::run
