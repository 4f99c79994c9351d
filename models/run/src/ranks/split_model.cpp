#include "weft/run/split_model.h"

#include "weft/base/error.h"
#include "weft/files/rank_file.h"

#include "model_impl.h"
#include "ranks/open_for_rank.h"

namespace weft {

void write_part_of_rank(const Model& model, const Sharding& sharding, int rank,
                        const std::string& path, const std::function<bool(double)>& progress) {
  const Checkpoint& file = model.file();
  if (model.sharding().ranks() > 1)
    fail<ValueError>("{}: loaded for {}, expected the whole model", model.impl().source.file(),
                     to_string(model.sharding()));
  if (!model.impl().adapters.empty())
    fail<ValueError>("{}: loaded with adapters, which files of ranks do not have",
                     model.impl().source.file());
  write_rank_file(file, model.impl().parts_of_rank(sharding, rank),
                  {.sharding = to_string(sharding),
                   .min_elems = sharding.min_elems,
                   .rank = rank,
                   .ranks = sharding.ranks(),
                   .sample = run::sample_of_weights(file)},
                  path, progress);
}

}  // namespace weft
