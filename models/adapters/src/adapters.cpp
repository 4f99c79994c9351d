#include "weft/adapters/adapters.h"

#include <cmath>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/graph/pass.h"

namespace weft {

void check_scale(const std::string& path, float scale) {
  if (!std::isfinite(scale))
    fail<ValueError>("{}: the scale must be a finite number, got {}", printable_path(path), scale);
}

Adapters Adapters::open(const AdapterFiles& files, const AdaptedModel& model) {
  Adapters all;
  all.files_ = files.loras;
  for (const LoraFile& about : files.loras) {
    check_scale(about.path, about.scale);
    Lora& lora = all.loras_.emplace_back(Lora::open(about.path, model.file));
    lora.prepare(model.graphs);
    for (const std::string& name : lora.unused()) {
      all.warnings_.push_back(fmt::format("{}: adapts '{}', which the model does not use",
                                          printable_path(about.path), printable(name)));
    }
  }
  for (const ControlVectorFile& about : files.control_vectors) check_scale(about.path, about.scale);
  if (!files.control_vectors.empty()) {
    all.control_vector_.emplace(files.control_vectors, files.control_layers, model.file,
                                model.n_layers, model.n_embd);
    for (const std::string& path : all.control_vector_->unused())
      all.warnings_.push_back(fmt::format("{}: has no direction of layers {} to {}: no effect",
                                          printable_path(path), files.control_layers->first,
                                          files.control_layers->last));
  } else if (files.control_layers) {
    fail<ValueError>("layers for control vectors were given, but no control vector");
  }
  for (const Graph* graph : model.graphs) check(all.apply(*graph));
  return all;
}

Checkpoint Adapters::weights(const Checkpoint& model) const {
  if (empty()) return model;
  std::vector<AddedTensor> added;
  const auto add = [&](const std::vector<AddedTensor>& more) {
    added.insert(added.end(), more.begin(), more.end());
  };
  for (std::size_t i = 0; i < loras_.size(); ++i) add(loras_[i].tensors(i));
  if (control_vector_) add(control_vector_->tensors());
  return model.with(added);
}

Graph Adapters::apply(const Graph& plain) const {
  Graph graph = without_dead_nodes(plain);
  for (std::size_t i = 0; i < loras_.size(); ++i) graph = add_lora(graph, loras_[i], i);
  if (control_vector_) graph = add_control_vector(graph, *control_vector_);
  return graph;
}

std::vector<AdapterPass> Adapters::passes() const {
  std::vector<AdapterPass> all;
  if (!loras_.empty())
    all.push_back({"lora", "y = w x -> y + s u (v x) for adapted weights, s per token"});
  if (control_vector_)
    all.push_back({"control_vector", "h -> h + direction, after layers that have one"});
  return all;
}

}  // namespace weft
