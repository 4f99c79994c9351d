#pragma once
// Control vectors: directions that are added to the residual stream after layers, scaled. Several
// files are summed.
//
//   h' = h + sum_f scale_f * direction_f.N        h [T, D] after layer N     direction.N [D]
//
// Source: Zou et al. 2023, arXiv:2310.01405. A file has general.architecture "controlvector",
// controlvector.model_hint, the architecture of the model that it was made for (optional), and
// tensors direction.N of layers 1 <= N < L; layer 0 has none, as in
// https://github.com/ggml-org/llama.cpp/blob/master/src/llama-adapter.cpp.

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "weft/adapters/adapter_files.h"
#include "weft/files/checkpoint.h"
#include "weft/graph/graph.h"

namespace weft {

class ControlVector {
 public:
  // Reads and sums files for a model of `n_layers` layers of width `n_embd`. Throws IoError,
  // FormatError, ShapeError and UnsupportedError with the file, and the key or the tensor: another
  // kind of file, a vector of another architecture than that of `model`, a direction of another
  // width, of layer 0 or of a layer that the model does not have, numbers that are not finite;
  // ValueError for layers that are not 0 <= first <= last <= n_layers. REQUIRES: at least one file.
  ControlVector(std::span<const ControlVectorFile> files,
                const std::optional<ControlLayers>& layers, const Checkpoint& model,
                std::int64_t n_layers, std::int64_t n_embd);

  const std::set<std::int64_t>& layers() const { return layers_; }  // that have a direction
  std::int64_t width() const { return width_; }                     // D
  const std::string& path() const { return path_; }                 // the first file's
  // Files whose directions are all of other layers than those to change.
  const std::vector<std::string>& unused() const { return unused_; }
  // The directions under the names that they have in graphs.
  std::vector<AddedTensor> tensors() const;

 private:
  std::string path_;
  std::int64_t width_;
  std::set<std::int64_t> layers_;
  std::vector<std::string> unused_;
  std::optional<Checkpoint> sums_;
};

// The pass "control_vector": adds the direction of each layer to the layer's output, the only
// [T, D] f32 node of the layer that other nodes read. Throws UnsupportedError if a layer has none
// or several of them.
Graph add_control_vector(const Graph& graph, const ControlVector& vector);

}  // namespace weft
