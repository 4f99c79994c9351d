#pragma once
// Flags of models that are divided among ranks.

#include <string>

#include "common/flags.h"

namespace weft::cli {

// --shard, --slow-link and --rank-timeout. add_model_flags() adds them.
void add_shard_flags(App& app, ModelFlags& flags);
// --rank, for programs that run nothing: the rank of a sharded model that they show.
void add_rank_flag(App& app, ModelFlags& flags);
// Makes load_model() load the part of that rank. Throws UsageError if there is no such rank.
void use_lone_rank(ModelFlags& flags);
// Throws UsageError if a launcher started several ranks, and the flags do not divide the model.
void check_launch(const ModelFlags& flags);
// A latency and a bandwidth, the value of this flag. Throws like reject_value().
LinkSpeed link_of_flag(const std::string& flag, const std::string& text);

}  // namespace weft::cli
