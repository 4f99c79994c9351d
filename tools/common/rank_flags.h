#pragma once
// Flags of models that are divided among ranks.

#include <string>
#include <string_view>

#include "common/flags.h"

namespace weft::cli {

// --shard, --slow-link and --rank-timeout. add_model_flags() adds them.
void add_shard_flags(App& app, ModelFlags& flags);
// A sharding, the value of --shard. Throws like reject_value().
Sharding sharding_of_flag(const std::string& text);
// --rank, for programs that run nothing: the rank of a sharded model that they show.
void add_rank_flag(App& app, ModelFlags& flags);
// Throws UsageError unless the value of --rank is one of the sharding's ranks.
void check_rank_flag(int rank, const Sharding& sharding);
// Makes load_model() load the part of that rank. Throws UsageError if there is no such rank.
void use_lone_rank(ModelFlags& flags);
// Throws UsageError if a launcher started several ranks, and the flags do not divide the model.
void check_launch(const ModelFlags& flags);
// The same for a program that is not one of several ranks, whatever its flags.
void refuse_launch(std::string_view program);
// A latency and a bandwidth, the value of this flag. Throws like reject_value().
LinkSpeed link_of_flag(const std::string& flag, const std::string& text);

}  // namespace weft::cli
