#pragma once
// The placement of a session's weights: in the mapped file, or in one region of private memory, in
// the types that the session's graphs give them. Computed from the file's header alone.

#include <cstdint>
#include <set>
#include <span>
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
  bool streamed = false;  // read from the file while steps run

  std::int64_t bytes() const { return dtype.bytes(tensor->spec.shape.elems()); }  // in that type
  friend bool operator==(const PlacedWeight&, const PlacedWeight&) = default;
};

struct WeightLayout {
  std::vector<PlacedWeight> weights;  // in file order
  std::int64_t region_bytes = 0;      // as allocated
  std::int64_t mapped_bytes = 0;      // weights that stay in the file and are read from its pages
  std::int64_t table_bytes = 0;       // the tables among them: a step reads only some rows
  bool changes_types = false;         // some weight has another type than in the file
  friend bool operator==(const WeightLayout&, const WeightLayout&) = default;
};

// Whether a region with this layout has all weights that one with `wanted` would have.
bool covers(const WeightLayout& layout, const WeightLayout& wanted);

// The layout for graphs that are run by turns. With `resident`, every weight that steps read
// completely goes into the region, in file order. Otherwise only those whose rows have another
// order in the file. Weights that the graph needs in another type are converted when they are
// copied into the region. Throws Error if a weight to be converted would have to stay in the file,
// or is quantized there. Weights `off_host` are omitted, because only devices read them. Also
// throws Error if two graphs need a weight in different types. Weights of `streamed` are in neither
// place.
WeightLayout layout_weights(const Checkpoint& file, std::span<const Graph* const> graphs,
                            bool resident, const std::vector<std::string>& off_host = {},
                            const std::set<std::string_view>& streamed = {});

}  // namespace weft::run
