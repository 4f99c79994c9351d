#pragma once
// Models that are divided among ranks (weft/scheduler/shard.h). Rank 0 is used like any model: its
// sessions have the other ranks compute their parts. These are threads of this process, or, if a
// launcher of MPI started it several times, the other processes:
//
//   if (follows_rank_0()) return follow_rank_0("model.gguf", {.sharding = {.tp = 2}});
//   auto model = Model::load("model.gguf", {.sharding = {.tp = 2}});
//
// Every rank has the model's file, or reads it from shared storage, and reads only its part of the
// weights; or it has a file of its part only (weft/run/split_model.h). When ranks meet they compare
// versions, shardings and files.

#include <span>
#include <string>
#include <vector>

#include "weft/run/model.h"
#include "weft/run/session.h"
#include "weft/scheduler/verify.h"

namespace weft {

// Whether this process is one of several that a launcher started, and not the first one.
bool follows_rank_0();

// Computes this process' part for rank 0 until that ends. Throws like Model::load(); RankError if
// rank 0 is lost. The other ranks are told why this one ended.
void follow_rank_0(const std::string& path, const ModelOptions& options);

// The tokens of a prompt of n tokens that are computed together, at most `widest`. Stages of a
// pipeline compute different parts of it at the same time, so there must be several for each. Where
// the prompt of a recurrent model is cut shows in the last bits of its results: as on one machine.
std::int64_t prompt_chunk(const Model& model, std::int64_t widest, std::int64_t n);

// The link from rank 0 to each other rank, measured with messages to and fro. Between steps.
struct MeasuredLink {
  int rank = 0;
  LinkSpeed speed;
  std::string carrier;  // "in process", "Open MPI v4.1.4"
};
std::vector<MeasuredLink> measure_links(const Model& model);

// What the other ranks found in the last step of a session of rank 0, if its observer verifies
// nodes (NodeObserver::verifies()); by rank, from 1 on.
std::span<const VerifyReport> reports_of_ranks(const Session& session);

}  // namespace weft
