// The model of one rank: the whole one, without what other ranks compute.
#include "weft/run/ranks.h"

#include "model/model_impl.h"
#include "ranks/rank_world.h"

namespace weft {

std::shared_ptr<const Model> run::load_rank(const Checkpoint& file, const ModelOptions& options,
                                            int rank, RankLink& link, int ranks_here) {
  auto impl = Model::Impl::load(file, options);
  impl->take_part(options.sharding, rank);
  impl->ranks.link = &link;
  impl->ranks.ranks_here = ranks_here;
  impl->identity = std::make_unique<Identity>(impl->weights);
  return Model::Impl::wrap(std::move(impl));
}

std::vector<MeasuredLink> measure_links(const Model& model) {
  std::vector<MeasuredLink> links;
  const auto& group = run::impl_of(model).ranks.group;
  for (int rank = 1; group && rank < group->size(); ++rank)
    links.push_back({rank, group->measure_link(rank), std::string(group->carrier())});
  return links;
}

}  // namespace weft
