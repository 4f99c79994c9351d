#pragma once
// The adapters of a model: their files, the weights that they bring, and the graph passes that
// apply them. Models without adapters keep their graphs. Immutable after open().

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/adapters/adapter_files.h"
#include "weft/adapters/control_vector.h"
#include "weft/adapters/lora.h"
#include "weft/files/checkpoint.h"
#include "weft/graph/graph.h"

namespace weft {

// The model that adapters must fit.
struct AdaptedModel {
  const Checkpoint& file;
  std::int64_t n_layers = 0, n_embd = 0;
  std::span<const Graph* const> graphs;  // the model's, as they were built
};

// A pass that apply() runs. The nodes that it adds have its name in Node::made_by.
struct AdapterPass {
  std::string_view name, summary;
};

class Adapters {
 public:
  Adapters() = default;  // none
  // Opens all files and checks that they fit the model. Throws like Lora, ControlVector and the
  // passes; ValueError for a scale that is not finite, and for a range of layers without a control
  // vector.
  static Adapters open(const AdapterFiles& files, const AdaptedModel& model);

  bool empty() const { return loras_.empty() && !control_vector_; }
  std::span<const LoraFile> loras() const { return files_; }
  // The model's tensors, and those that apply() needs.
  Checkpoint weights(const Checkpoint& model) const;
  // The graph with all adapters. Runs before every other pass. Inputs and outputs of the model
  // stay; each LoRA adds the input lora_scale_name(i).
  Graph apply(const Graph& plain) const;
  std::vector<AdapterPass> passes() const;
  // About tensors and control vectors that have no effect.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  std::vector<LoraFile> files_;
  std::vector<Lora> loras_;
  std::optional<ControlVector> control_vector_;
  std::vector<std::string> warnings_;
};

}  // namespace weft
