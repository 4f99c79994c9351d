// The model of one rank: the whole one, without what other ranks compute.
#include <algorithm>

#include "weft/base/error.h"
#include "weft/files/rank_file.h"
#include "weft/files/tensor_values.h"
#include "weft/run/ranks.h"

#include "model_impl.h"
#include "ranks/rank_world.h"
#include "session_impl.h"

namespace weft {

std::shared_ptr<const Model> run::load_rank(const Checkpoint& file, const ModelOptions& options,
                                            int rank, RankLink& link, int share) {
  auto impl = Model::Impl::load(file, options);
  impl->take_part(options.sharding, rank);
  impl->ranks.link = &link;
  impl->ranks.share = share;
  impl->identity = std::make_unique<Identity>(impl->weights);
  return Model::Impl::wrap(std::move(impl));
}

std::shared_ptr<const Model> Model::Impl::wrap(std::unique_ptr<Impl> impl) {
  return std::shared_ptr<const Model>(new Model(std::move(impl)));
}

// Leaves the rank the parts of the weights that its graphs have.
void Model::Impl::take_part(const Sharding& sharding, int rank) {
  const std::vector<TensorPart> parts = parts_of_rank(sharding, rank);
  facts.drafts = false;
  ranks.sharding = sharding;
  ranks.rank = rank;
  weights = weights.with_parts(parts);
  if (!rank_file_facts(source.checkpoint())) return;
  // The whole model had no data to be checked when it was loaded.
  for (const CheckpointTensor& part : weights.tensors())
    if (part.spec.dtype == f32 && part.spec.shape.rank() == 1) check_finite(weights, part);
}

std::vector<TensorPart> Model::Impl::parts_of_rank(const Sharding& sharding, int rank) const {
  if (facts.encodes)
    fail<UnsupportedError>("{}: a model with an encoder and a decoder cannot be sharded",
                           source.file());
  std::vector<TensorPart> parts;
  const auto add = [&](bool embeddings) {
    const RankGraph own = shard(plain_graph({.embeddings = embeddings}).graph, sharding, rank);
    for (NodeId id = 0; id < own.graph.size(); ++id) {
      const Node& node = own.graph[id];
      if (node.kind != NodeKind::weight) continue;
      if (std::ranges::find(parts, node.path, &TensorPart::name) != parts.end()) continue;
      const auto part = std::ranges::find(own.parts, node.path, &WeightPart::name);
      if (part == own.parts.end()) {
        parts.push_back({.name = node.path, .source = node.path});
      } else {
        TensorPart& taken = parts.emplace_back();
        taken = {.name = part->name, .source = part->source, .cuts = {}};
        for (const auto& [axis, begin, end] : part->ranges)
          taken.cuts.push_back({.axis = axis, .ranges = {{begin, end}}});
      }
    }
  };
  if (facts.has_output) add(false);
  add(true);
  return parts;
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

void run::refuse_sharded(const Model& model) {
  if (model.sharding().ranks() == 1) return;
  fail<UnsupportedError>("{}: sequences of a model that is divided among ranks cannot be saved",
                         model.file().path());
}

std::unique_ptr<run::Followers> run::open_followers(const Model& model,
                                                    const PlannedModel& planned) {
  const auto& world = model.impl().ranks.world;
  return world ? std::make_unique<Followers>(world, planned) : nullptr;
}

std::vector<MeasuredLink> measure_links(const Model& model) {
  std::vector<MeasuredLink> links;
  const auto& world = model.impl().ranks.world;
  for (int rank = 1; world && rank < world->size(); ++rank)
    links.push_back({rank, world->measure_link(rank), std::string(world->carrier())});
  return links;
}

std::int64_t prompt_chunk(const Model& model, std::int64_t widest, std::int64_t n) {
  constexpr std::int64_t kPerStage = 8, kNarrowest = 32, kWidest = 128;
  const std::int64_t stages = model.sharding().pp;
  if (stages == 1 || model.facts().recurrent || !model.facts().causal) return widest;
  const std::int64_t wanted = (n / (kPerStage * stages) + kNarrowest - 1) / kNarrowest * kNarrowest;
  return std::min(widest, std::clamp(wanted, kNarrowest, kWidest));
}

std::span<const VerifyReport> reports_of_ranks(const Session& session) {
  const auto& followers = SessionAccess::impl(session).followers;
  return followers ? std::span(followers->reports()) : std::span<const VerifyReport>();
}

}  // namespace weft
