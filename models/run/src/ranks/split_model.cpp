#include "weft/run/split_model.h"

#include "weft/base/error.h"
#include "weft/files/rank_file.h"
#include "weft/run/modes.h"

#include "model/model_impl.h"
#include "ranks/open_for_rank.h"

namespace weft {

void write_part_of_rank(const Model& model, const Sharding& sharding, int rank,
                        const std::string& path, const std::function<bool(double)>& progress) {
  const Checkpoint& file = model.file();
  require(model, Feature::splitting);
  if (!run::impl_of(model).adapters.empty())
    fail<ValueError>("{}: loaded with adapters, which files of ranks do not have",
                     run::impl_of(model).source.file());
  write_rank_file(file, run::impl_of(model).parts_of_rank(sharding, rank).parts,
                  {.sharding = to_string(sharding),
                   .min_elems = sharding.min_elems,
                   .rank = rank,
                   .ranks = sharding.ranks(),
                   .sample = run::sample_of_weights(file)},
                  path, progress);
}

}  // namespace weft
