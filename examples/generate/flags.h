#pragma once
// The flags of generate.

#include <cstdint>
#include <optional>
#include <string>

#include "weft/sample/beam_search.h"
#include "weft/serve/diffusion.h"

#include "common/constraint_flags.h"
#include "common/draft_flags.h"
#include "common/flags.h"
#include "common/template_flags.h"

namespace weft::generate {

struct Options {
  cli::ModelFlags model;
  cli::SamplerFlags sampler;
  cli::ConstraintFlags constraint;
  std::string prompt = "Once upon a time";
  std::string prompt_file;
  bool escapes = false;  // the prompt of -p has backslash escapes
  std::int64_t predict = -1;
  bool ignore_eos = false;
  ContextEndOptions context_end;
  bool hide_prompt = false;
  bool token_healing = false;
  std::int64_t samples = 1;
  int logprobs = -1;  // how many of the most likely tokens are shown per token; -1: none
  bool json = false;

  cli::DraftFlags drafts;

  std::int32_t beams = 0;  // 0: no search
  BeamOptions search;
  std::string not_with_beams;  // a given flag that cannot be combined with beam search

  DiffusionOptions diffusion;       // for diffusion models
  bool diffusion_visual = false;    // a line per step
  std::string only_with_diffusion;  // a given flag that only they have

  std::string cache_path;  // --prompt-cache; empty: none
  bool cache_all = false;  // cache generated tokens, too
  bool cache_read_only = false;

  bool conversation = false;
  std::string system;
  cli::TemplateFlags chat_template;
};

// Returns the exit code if the program is to end at once.
std::optional<int> read_flags(int argc, char** argv, Options& options);
// Throws UsageError for flags that cannot be combined; adjusts the session for beam search.
void complete_options(Options& options);

}  // namespace weft::generate
