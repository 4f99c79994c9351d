// The part of a model that one rank computes.
#include <algorithm>

#include "weft/base/error.h"
#include "weft/files/rank_file.h"
#include "weft/files/tensor_values.h"
#include "weft/run/modes.h"

#include "model/model_impl.h"

namespace weft {

// Leaves the rank the parts of the weights that its graphs have.
void Model::Impl::take_part(const Sharding& sharding, int rank) {
  const RankParts own = parts_of_rank(sharding, rank);
  for (const UndividedOp& op : own.undivided) warnings.push_back(to_string(op, sharding));
  facts.drafts = false;
  ranks.sharding = sharding;
  ranks.rank = rank;
  weights = weights.with_parts(own.parts);
  if (!rank_file_facts(source.checkpoint())) return;
  // The whole model had no data to be checked when it was loaded.
  for (const CheckpointTensor& part : weights.tensors())
    if (part.spec.dtype == f32 && part.spec.shape.n_dims() == 1) check_finite(weights, part);
}

Model::Impl::RankParts Model::Impl::parts_of_rank(const Sharding& sharding, int rank) const {
  if (facts.encodes)
    fail<UnsupportedError>("{}: {}", source.file(), why_not(Feature::encoder, Mode::sharded));
  RankParts all;
  const auto add = [&](bool embeddings) {
    const RankGraph own = shard(plain_graph({.embeddings = embeddings}).graph, sharding, rank);
    for (NodeId id = 0; id < own.graph.size(); ++id) {
      const Node& node = own.graph[id];
      if (node.kind != NodeKind::weight) continue;
      if (std::ranges::find(all.parts, node.path, &TensorPart::name) != all.parts.end()) continue;
      const auto part = std::ranges::find(own.parts, node.path, &WeightPart::name);
      if (part == own.parts.end()) {
        all.parts.push_back({.name = node.path, .source = node.path});
      } else {
        TensorPart& taken = all.parts.emplace_back();
        taken = {.name = part->name, .source = part->source, .cuts = {}};
        for (const auto& [axis, begin, end] : part->ranges)
          taken.cuts.push_back({.axis = axis, .ranges = {{begin, end}}});
      }
    }
    for (const UndividedOp& op : own.undivided)
      if (std::ranges::find(all.undivided, op.op, &UndividedOp::op) == all.undivided.end())
        all.undivided.push_back(op);
  };
  if (facts.has_output) add(false);
  add(true);
  return all;
}

// A graph as it is built from the files, with adapters.
arch::ModelGraph Model::Impl::plain_graph(const arch::GraphOptions& options) const {
  arch::ModelGraph built = graph(options);
  // Drafts without adapters are less often right, which is all that they change there.
  if (!adapters.empty() && options.part != arch::GraphPart::draft)
    built.graph = adapters.apply(built.graph);
  return built;
}

arch::ModelGraph Model::Impl::rank_graph(const arch::GraphOptions& options) const {
  arch::ModelGraph built = plain_graph(options);
  if (ranks.sharding.ranks() == 1) return built;
  built.graph = shard(built.graph, ranks.sharding, ranks.rank).graph;
  for (arch::MemoryPart& part : built.memory)
    std::erase_if(part.states,
                  [&](const std::string& state) { return built.graph.find(state) == kNoNode; });
  return built;
}

}  // namespace weft
