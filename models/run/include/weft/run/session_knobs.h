#pragma once
// SessionOptions as people set them: on the command line, in C and Python, in what ranks send each
// other, and in the table of docs/options.md. Every member is described here once
// (weft/base/knob.h); session.h has the contracts for C++.

#include <string>
#include <string_view>
#include <vector>

#include "weft/base/knob.h"
#include "weft/run/session.h"
#include "weft/scheduler/workers.h"

namespace weft {

// How values that are neither numbers nor texts are written: "streamed", "crew", "Q8_0".
// value_names() gives the names of all values of a type, name_of_value() that of one value, or ""
// for none. set_by_name() sets the value of a name, and throws ValueError "`cache_k` must be one of
// F16,
// .., got 'F17'" for another one.
std::vector<std::string> value_names(WeightMode);
std::vector<std::string> value_names(const std::optional<ReplayKind>&);
std::vector<std::string> value_names(DType);  // those that caches can have
std::string name_of_value(WeightMode mode);
std::string name_of_value(const std::optional<ReplayKind>& kind);
std::string name_of_value(DType dtype);
void set_by_name(WeightMode& mode, std::string_view option, std::string_view name);
void set_by_name(std::optional<ReplayKind>& kind, std::string_view option, std::string_view name);
void set_by_name(DType& dtype, std::string_view option, std::string_view name);

// The values of those options that have a name in C as a JSON object. Without files and folders if
// they are hidden, for readers who need not know them.
enum class Paths : std::uint8_t { shown, hidden };
std::string to_json(const SessionOptions& options, Paths paths = Paths::shown);

namespace knobs {

inline constexpr double kMaxCells = (std::int64_t{1} << 31) - 1;  // cells are numbered with i32
inline constexpr std::string_view kCallback = "a callback of rank 0, which has the results",
                                  kOfRank0 = "rank 0 alone", kTests = "for tests and tools in C++",
                                  kSpecialFlag = "programs set it themselves";

}  // namespace knobs

template <>
struct Described<SessionOptions> {
  using S = SessionOptions;
  static constexpr std::tuple all{
      option({.name = "context",
              .doc = "Size of the context in tokens; 0: that of the model, at most 4096.",
              .flags = "-c,--ctx-size",
              .group = "sequences",
              .unit = "tokens",
              .value = "N",
              .c = "context"},
             &S::context, {0, knobs::kMaxCells}),
      option({.name = "sequences",
              .doc = "Sequences, each with a memory of its own.",
              .no_flag = "programs open as many as they write texts at once: -np",
              .group = "sequences",
              .c = "sequences"},
             &S::sequences, {1, 1 << 16}),
      option({.name = "cells",
              .doc = "Cells (one per token) that all sequences share, in whole blocks of 64; 0: as "
                     "many as all contexts together. Text that does not fit into them is refused.",
              .flags = "--cache-cells",
              .group = "sequences",
              .unit = "tokens",
              .value = "N",
              .c = "cells"},
             &S::cells, {0, knobs::kMaxCells}),
      option({.name = "prefill_width",
              .doc = "Max tokens of the prompt in one step.",
              .flags = "-b,--batch-size",
              .group = "sequences",
              .unit = "tokens",
              .value = "N",
              .c = "prefill_width"},
             &S::prefill_width, {1, kMaxPrefillWidth}),
      option({.name = "logits_rows",
              .doc = "Max rows of logits in one step; 0: max(sequences, 16).",
              .no_flag = knobs::kSpecialFlag,
              .group = "sequences",
              .c = "logits_rows"},
             &S::logits_rows, {0, knobs::kMaxCells}),
      option({.name = "workers",
              .doc = "Threads; 0: two, or one with one CPU.",
              .flags = "-t,--threads",
              .group = "plan",
              .value = "N",
              .c = "workers",
              .no_ranks = "each rank has processors of its own (ModelOptions::rank_workers); one "
                          "worker, for proofs, is sent"},
             &S::workers, {0, kMaxWorkers}),
      option({.name = "executor",
              .doc = "Who runs the plan on several workers: flow (a oneTBB flow graph), crew "
                     "(workers that spin at joins), auto (weft plan shows the choice and the "
                     "reason).",
              .flags = "--executor",
              .group = "plan",
              .value = "NAME",
              .c = "executor"},
             &S::executor),
      option({.name = "backend",
              .doc = "Backend: cpu, reference, or a plug-in (weft backends lists them).",
              .flags = "--backend",
              .group = "plan",
              .value = "NAME",
              .c = "backend"},
             &S::backend),
      option(
          {.name = "route",
           .doc = "Backends by path: 'blk.3.ffn_*=reference,*=cpu'; first match counts (see weft "
                  "plan).",
           .flags = "--route",
           .group = "plan",
           .value = "RULES",
           .c = "route"},
          &S::route),
      option({.name = "backend_instance",
              .doc = "A backend in place of `backend` and `route`.",
              .no_flag = knobs::kTests,
              .group = "plan",
              .no_c = knobs::kTests,
              .no_ranks = "a pointer"},
             &S::backend_instance),
      option(
          {.name = "cache_k",
           .doc = "Type of the keys in the cache; by default F16, or Q8_0 if the budget requires "
                  "it. Types of blocks pad heads to a multiple of 32.",
           .flags = "--cache-type-k",
           .group = "sequences",
           .value = "TYPE",
           .c = "cache_k"},
          &S::cache_k),
      option({.name = "cache_v",
              .doc = "Type of the values in the cache; by default F16, or Q8_0 if the budget "
                     "requires it. Types of blocks pad heads to a multiple of 32.",
              .flags = "--cache-type-v",
              .group = "sequences",
              .value = "TYPE",
              .c = "cache_v"},
             &S::cache_v),
      option(
          {.name = "weights",
           .doc = "Mapped: used directly from the file; resident: copied into the fastest layout; "
                  "streamed: read from disk while tokens are computed, as far as the budget has "
                  "no room for them; auto: resident if that is faster and fits, streamed if the "
                  "model does not fit.",
           .flags = "--weights",
           .group = "weights",
           .value = "MODE",
           .c = "weights"},
          &S::weights),
      option({.name = "open_reads",
              .doc = "How streamed weights are read.",
              .no_flag = knobs::kTests,
              .group = "weights",
              .no_c = knobs::kTests,
              .no_ranks = "a function"},
             &S::open_reads),
      option(
          {.name = "expert_usage",
           .doc = "File that keeps how often the experts of a streamed model are chosen, so that "
                  "the next start begins with those; auto: MODEL.experts; off: none.",
           .flags = "--expert-usage",
           .group = "weights",
           .value = "FILE",
           .path = true,
           .c = "expert_usage",
           .no_ranks = "ranks of one machine would write the same file, each with other experts"},
          &S::expert_usage),
      option({.name = "weight_cache",
              .doc = "Folder for weights in the fastest layout: the first start writes them, later "
                     "ones map them, or stream from them; nothing is ever removed from it.",
              .flags = "--weight-cache,--panel-cache",
              .group = "weights",
              .value = "DIR",
              .path = true,
              .c = "weight_cache"},
             &S::weight_cache),
      option({.name = "sample_weights",
              .doc = "Samples of the weights in place of all: for times, without results.",
              .no_flag = "weft plan --forecast sets it",
              .group = "weights",
              .no_c = "forecasts have functions of their own",
              .no_ranks = "forecasts time ranks one by one"},
             &S::sample_weights),
      option({.name = "passes_off",
              .doc = "Skip a graph pass (weft dot --passes lists them), or 'all'.",
              .flags = "--no-pass",
              .group = "plan",
              .value = "NAME",
              .c = "passes_off"},
             &S::passes_off),
      option({.name = "mem_budget",
              .doc = "Memory limit in bytes; 0: the memory that the process may use.",
              .flags = "--mem-budget",
              .group = "memory",
              .unit = "bytes",
              .value = "SIZE",
              .c = "mem_budget",
              .no_ranks = "each rank has a budget of its own (ModelOptions::rank_budget)"},
             &S::mem_budget, {.min = 0}),
      option({.name = "program",
              .doc = "What the budget also covers of the process.",
              .no_flag = knobs::kSpecialFlag,
              .group = "memory",
              .no_c = "what a process takes beside its session is the caller's: caller_bytes"},
             &S::program),
      option({.name = "caller_bytes",
              .doc = "Bytes of the caller that the budget also covers.",
              .no_flag = knobs::kSpecialFlag,
              .group = "memory",
              .unit = "bytes",
              .c = "caller_bytes",
              .no_ranks = knobs::kOfRank0},
             &S::reserved, {0, 0x1p62}),
      option({.name = "separate_tensors",
              .doc = "Every activation has its own memory, for debugging; else they share it as "
                     "soon as they are no longer needed.",
              .no_flag = "for debugging, from code",
              .group = "plan",
              .c = "separate_tensors"},
             &S::separate_tensors),
      option({.name = "embeddings",
              .doc = "Rows are the model's last hidden states instead of logits.",
              .no_flag = "weft embed and --embeddings of the server set it",
              .group = "sequences",
              .c = "embeddings"},
             &S::embeddings),
      option({.name = "kept",
              .doc = "Further sequences, which only keep what is copied to them.",
              .no_flag = "the server's store of prompts sets it: --cache-ram",
              .group = "sequences",
              .no_c = "for stores of prompts, which are in C++"},
             &S::kept, {0, 1 << 20}),
      option({.name = "kept_tokens",
              .doc = "Tokens that these have room for, beside the cells of the others.",
              .no_flag = "the server's store of prompts sets it: --cache-ram",
              .group = "sequences",
              .unit = "tokens",
              .no_c = "for stores of prompts, which are in C++"},
             &S::kept_tokens, {0, knobs::kMaxCells}),
      option({.name = "checkpoint_every",
              .doc = "Tokens between the states of recurrent layers that are kept so that other "
                     "texts can branch there, as long as there is room.",
              .no_flag = "--checkpoint-every of weft serve",
              .group = "sequences",
              .unit = "tokens",
              .no_c = "for stores of prompts, which are in C++"},
             &S::checkpoint_every, {1, knobs::kMaxCells}),
      option(
          {.name = "rewind",
           .doc = "How many guesses of a draft a step can check in a model with recurrent states, "
                  "each for memory of one more state per sequence.",
           .no_flag = "--spec-type and -md set it",
           .group = "sequences",
           .unit = "tokens",
           .c = "rewind"},
          &S::rewind, {0, static_cast<double>(arch::kGuaranteedRewind)}),
      option({.name = "draft_layer",
              .doc = "Steps also prepare the model's layer for drafts.",
              .no_flag = "--spec-type draft-mtp sets it",
              .group = "plan",
              .c = "draft_layer",
              .no_ranks = "models of ranks have no draft layer (docs/modes.md)"},
             &S::draft_layer),
      option({.name = "progress",
              .doc = "Called while weights are loaded.",
              .no_flag = knobs::kSpecialFlag,
              .group = "callbacks",
              .c = "progress",
              .no_ranks = knobs::kCallback},
             &S::progress),
      option({.name = "cancel",
              .doc = "Cancels loading and every step.",
              .no_flag = knobs::kSpecialFlag,
              .group = "callbacks",
              .no_c = "weft_session_cancel()",
              .no_ranks = knobs::kCallback},
             &S::cancel),
      option({.name = "poll",
              .doc = "Called about every 50 ms while steps are computed.",
              .no_flag = knobs::kSpecialFlag,
              .group = "callbacks",
              .c = "poll",
              .no_ranks = knobs::kCallback},
             &S::poll),
      option({.name = "warn",
              .doc = "Called with lines about what only costs time.",
              .no_flag = knobs::kSpecialFlag,
              .group = "callbacks",
              .c = "log",
              .no_ranks = knobs::kCallback},
             &S::warn)};

  static constexpr std::size_t kMembers = 32;
  // Whoever adds a member describes it above.
  static constexpr std::size_t count(S& options) {
    [[maybe_unused]] auto& [context, sequences, cells, kept, kept_tokens, checkpoint_every,
                            prefill_width, logits_rows, workers, executor, backend, route,
                            backend_instance, cache_k, cache_v, weights, open_reads, expert_usage,
                            weight_cache, sample_weights, passes_off, mem_budget, program, reserved,
                            separate_tensors, embeddings, rewind, draft_layer, progress, cancel,
                            poll, warn] = options;
    return kMembers;
  }
};

}  // namespace weft
