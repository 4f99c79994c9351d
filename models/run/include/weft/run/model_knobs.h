#pragma once
// ModelOptions as people set them, like SessionOptions in weft/run/session_knobs.h.

#include "weft/run/model.h"
#include "weft/run/session_knobs.h"

namespace weft {

template <>
struct Described<ModelOptions> {
  using M = ModelOptions;
  static constexpr std::string_view kOwnFlags =
      "every rank is started with the same flags, and ranks compare what they loaded";
  static constexpr std::string_view kNoRanksInC = "programs start ranks: weft serve, generate";
  static constexpr std::tuple all{
      option({.name = "progress",
              .doc = "Called during a long load.",
              .no_flag = knobs::kSpecialFlag,
              .group = "callbacks",
              .c = "progress",
              .no_ranks = knobs::kCallback},
             &M::progress),
      option(
          {.name = "quantize",
           .doc = "Convert F32, F16 and BF16 weights to this type when loading: Q8_0, Q4_K_M, ... "
                  "(weft quantize --help lists them).",
           .flags = "--quantize",
           .group = "weights",
           .value = "TYPE",
           .c = "quantize",
           .no_ranks = kOwnFlags},
          &M::quantize),
      option(
          {.name = "overrides",
           .doc = "Value of a key of the model, instead of the file's: KEY=TYPE:VALUE, TYPE int, "
                  "float, bool or str; several with commas; may be repeated.",
           .flags = "--override-kv",
           .group = "file",
           .value = "KEY=TYPE:VALUE",
           .c = "overrides,override_values",
           .no_ranks = kOwnFlags},
          &M::overrides),
      option({.name = "allow_unknown_settings",
              .doc = "Ignore settings in the config.json of a directory that Weft does not know.",
              .flags = "--allow-unknown-settings",
              .group = "file",
              .c = "allow_unknown_settings",
              .no_ranks = kOwnFlags},
             &M::allow_unknown_settings),
      option({.name = "adapters",
              .doc = "LoRAs and control vectors.",
              .flags = "--lora,--lora-scaled,--control-vector,--control-vector-scaled,"
                       "--control-vector-layer-range",
              .group = "file",
              .value = "FILE",
              .path = true,
              .c = "loras,control_vectors,control_first_layer,control_last_layer",
              .no_ranks = kOwnFlags},
             &M::adapters),
      option({.name = "draft_file",
              .doc = "A file with a draft layer or a head for the model.",
              .flags = "--model-draft,--spec-draft-model",
              .group = "file",
              .value = "FILE",
              .path = true,
              .c = "draft_file",
              .no_ranks = kOwnFlags},
             &M::draft_file),
      option(
          {.name = "sharding",
           .doc = "Divide the model among ranks: tp=N (parts of every layer), pp=N (some layers "
                  "each), or tp=N,pp=M; ranks are threads, or the processes that mpirun started.",
           .flags = "--shard",
           .group = "ranks",
           .value = "KIND=N",
           .no_c = kNoRanksInC,
           .no_ranks = kOwnFlags},
          &M::sharding),
      option({.name = "lone_rank",
              .doc = "The rank that is shown, if the model is divided by --shard.",
              .flags = "--rank",
              .group = "ranks",
              .value = "N",
              .no_c = kNoRanksInC,
              .no_ranks = "there are no others"},
             &M::lone_rank),
      option({.name = "slow_link",
              .doc = "Let messages between ranks take as long as on a link with this latency and "
                     "bandwidth, for example 1ms,1Gbit: to try what a network would do.",
              .flags = "--slow-link",
              .group = "ranks",
              .value = "TIME,RATE",
              .no_c = kNoRanksInC,
              .no_ranks = kOwnFlags},
             &M::slow_link),
      option({.name = "rank_timeout",
              .doc = "Seconds until a rank of --shard that does not answer counts as lost.",
              .flags = "--rank-timeout",
              .group = "ranks",
              .unit = "seconds",
              .value = "N",
              .no_c = kNoRanksInC,
              .no_ranks = kOwnFlags},
             &M::rank_timeout, {0.01, 1e6}),
      option({.name = "rank_budget",
              .doc = "The memory budget of a process of ranks other than 0.",
              .no_flag = "--mem-budget of that process",
              .group = "ranks",
              .unit = "bytes",
              .no_c = kNoRanksInC,
              .no_ranks = kOwnFlags},
             &M::rank_budget, {.min = 0}),
      option({.name = "rank_workers",
              .doc = "The threads of a process of ranks other than 0.",
              .no_flag = "-t of that process",
              .group = "ranks",
              .no_c = kNoRanksInC,
              .no_ranks = kOwnFlags},
             &M::rank_workers, {0, kMaxWorkers})};

  static constexpr std::size_t kMembers = 12;
  // Whoever adds a member describes it above.
  static constexpr std::size_t count(M& options) {
    [[maybe_unused]] auto& [progress, quantize, overrides, allow_unknown_settings, adapters,
                            draft_file, sharding, lone_rank, slow_link, rank_timeout, rank_budget,
                            rank_workers] = options;
    return kMembers;
  }
};

}  // namespace weft
