// Loads a whole model, or the part of it that one rank computes, with the other ranks.
#include "weft/base/error.h"
#include "weft/files/tensor_pages.h"
#include "weft/run/model_knobs.h"

#include "model/model_impl.h"
#include "ranks/open_for_rank.h"
#include "ranks/rank_world.h"

namespace weft {

using namespace run;

std::shared_ptr<const Model> Model::load(const std::string& path, const ModelOptions& options) {
  check_numbers(options);
  report_progress(options, 0);
  return load(open_for_rank(path, options, std::max(options.lone_rank, 0)), options);
}

std::shared_ptr<const Model> Model::load(const Checkpoint& opened, const ModelOptions& options) {
  check_numbers(options);
  const Checkpoint file = model_for_rank(opened, options.sharding, std::max(options.lone_rank, 0));
  auto impl = Impl::load(file, options);
  if (options.lone_rank >= 0) {
    impl->take_part(options.sharding, options.lone_rank);
    impl->ranks.own_link = std::make_unique<RankLink>(options.lone_rank);
    impl->ranks.link = impl->ranks.own_link.get();
  } else if (options.sharding.ranks() > 1) {
    impl->take_part(options.sharding, 0);
    impl->ranks.group = std::make_shared<RankWorld>(file, options);
    impl->ranks.link = &impl->ranks.group->link();
    impl->ranks.ranks_here = impl->ranks.group->ranks_here();
  }
  impl->identity = std::make_unique<Identity>(impl->weights);
  unmap_tensors(impl->weights);  // that were checked
  report_progress(options, 1);
  return Impl::wrap(std::move(impl));
}

}  // namespace weft
