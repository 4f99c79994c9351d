#pragma once
// Flags that several programs share. Those that llama.cpp also has are named as there.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/run/session.h"
#include "weft/sample/sampler.h"
#include "weft/serve/context_end.h"

#include "common/app.h"

namespace weft::cli {

// The path of the bundled model: WEFT_MODEL, or a file in share/weft/models (of an installation or
// a build folder) or in examples/models (of the source tree), searched in the folders above the
// program. Empty if there is none.
std::string bundled_model();

struct ModelFlags {
  std::string path;  // never empty after parsing
  SessionOptions session;
  std::string quantize;  // ModelOptions::quantize
  AdapterFiles adapters;
  std::string draft_file;  // ModelOptions::draft_file
  std::vector<KeyOverride> overrides;
  bool allow_unknown_settings = false;
  Sharding sharding;
  std::int32_t rank = 0;  // --rank
  int lone_rank = -1;     // ModelOptions::lone_rank
  double rank_timeout = ModelOptions().rank_timeout;
  std::optional<LinkSpeed> slow_link;
};
ModelOptions model_options(const ModelFlags& flags);
// Loads the model that the flags name. Prints its warnings to stderr. In a process of another rank
// than 0, computes for rank 0 until it ends, and throws RankEnded (common/program.h).
std::shared_ptr<const Model> load_model(const ModelFlags& flags,
                                        const std::function<bool(double)>& progress = {});
// The same for programs that need no logits: sessions of a model without an output matrix give its
// hidden states.
std::shared_ptr<const Model> load_inspected_model(ModelFlags& flags,
                                                  const std::function<bool(double)>& progress = {});
// Prints to stderr the session's concessions to the budget, and a warning about a context beyond
// the one that the model was trained for.
void print_concessions(const Session& session);
// Call it before other flags are added: it makes the last one count if a flag is repeated.
void add_model_flags(App& app, ModelFlags& flags);

// For programs that write texts.
void add_expert_usage_flag(App& app, ModelFlags& flags);

// --cache-cells, for programs whose sessions have several sequences.
Option add_cells_flag(App& app, SessionOptions& session);

// What texts do at the end of the context.
void add_context_flags(App& app, ContextEndOptions& options);

// -n: `more` is appended to its help text.
Option add_length_flag(App& app, std::int64_t& max_tokens, std::string_view more = "");

struct SamplerFlags : SamplerOptions {
  std::vector<std::string> dry_breaker_texts{"\n", ":", "\"", "*"};
};
// --seed -1, the default, sets a random seed when the flags are parsed.
void add_sampler_flags(App& app, SamplerFlags& flags);
// The options, completed with the vocabulary: the tokens that break repetitions.
SamplerOptions sampler_options(const Model& model, const SamplerFlags& flags);

}  // namespace weft::cli
