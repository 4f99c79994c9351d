#pragma once
// The options of a generation that people set besides those of the sampler
// (weft/sample/sampler_knobs.h), as they see them.

#include <span>

#include "weft/base/knob.h"
#include "weft/serve/generation.h"

namespace weft {

// Every member. Requests name some of them otherwise: generation_texts().
template <>
struct Described<GenerationOptions> {
  using G = GenerationOptions;
  static constexpr KnobRange kTokens{0, 0x1p40};  // sums of lengths are far from overflow
  static constexpr std::string_view kRequests =
                                        "requests and the flags of generation_texts() set it",
                                    kNotSent = "rank 0 writes the texts",
                                    kInPrograms = "programs decide it themselves";
  static constexpr auto max_tokens = option(
      {.name = "max_tokens",
       .doc =
           "Number of tokens to generate at most; -1 means until the text ends or the context is "
           "full.",
       .flags = "-n,--predict,--n-predict",
       .aliases = {"n_predict", "num_predict", "max_completion_tokens", "max_output_tokens"},
       .group = "ends",
       .unit = "tokens",
       .value = "N",
       .c = "max_tokens",
       .no_ranks = kNotSent},
      &G::max_tokens, {-1, kTokens.max});
  static constexpr auto min_tokens =
      option({.name = "min_tokens",
              .doc = "Number of tokens to generate before the text may end; 0 lets it end at once.",
              .no_flag = "programs have --ignore-eos, for texts of a given length",
              .group = "ends",
              .unit = "tokens",
              .c = "min_tokens",
              .no_ranks = kNotSent},
             &G::min_tokens, kTokens);
  static constexpr auto ignore_eos =
      option({.name = "ignore_eos",
              .doc = "Never choose a token that ends the text; by default, the model may end it.",
              .flags = "--ignore-eos",
              .group = "ends",
              .c = "ignore_eos",
              .no_ranks = kNotSent},
             &G::ignore_eos);
  static constexpr std::tuple all{
      option({.name = "sampler",
              .doc = "How tokens are chosen (docs/sampling.md).",
              .no_flag = "the flags of sampler_knobs()",
              .group = "choice",
              .c = "sampler",
              .no_ranks = kNotSent},
             &G::sampler),
      option({.name = "choose",
              .doc = "Chooses tokens in place of the sampler.",
              .no_flag = "a function",
              .group = "choice",
              .c = "choose",
              .no_ranks = kNotSent},
             &G::choose),
      option({.name = "rules",
              .doc = "Stop texts, texts that are never generated, and a grammar.",
              .no_flag = kRequests,
              .group = "choice",
              .c = "stops,banned,grammar",
              .no_ranks = kNotSent},
             &G::rules),
      max_tokens,
      option({.name = "max_time_ms",
              .doc = "Milliseconds after its first token until the text ends, as soon as it has a "
                     "line break.",
              .no_flag = kRequests,
              .group = "ends",
              .unit = "ms",
              .c = "max_time_ms",
              .no_ranks = kNotSent},
             &G::max_time),
      ignore_eos,
      option({.name = "stop_tokens",
              .doc = "Tokens that end the text besides the model's own.",
              .no_flag = kRequests,
              .group = "ends",
              .c = "stop_tokens",
              .no_ranks = kNotSent},
             &G::stop_tokens),
      min_tokens,
      option({.name = "token_healing",
              .doc = "The prompt's last token may be continued.",
              .no_flag = kInPrograms,
              .group = "choice",
              .c = "token_healing",
              .no_ranks = kNotSent},
             &G::token_healing),
      option({.name = "lora_scales",
              .doc = "The scale of each LoRA for this text; by default, those of the sequence.",
              .no_flag = "--lora-scaled sets them for all texts",
              .group = "choice",
              .no_c = "weft_session_set_lora_scales()",
              .no_ranks = kNotSent},
             &G::lora_scales),
      option({.name = "n_logprobs",
              .doc = "Most likely tokens to report per token; -1: no logprobs.",
              .no_flag = kRequests,
              .group = "reports",
              .unit = "tokens",
              .c = "n_logprobs",
              .no_ranks = kNotSent},
             &G::logprobs, {-1, 0x1p31 - 1}),
      option({.name = "prompt_logprobs",
              .doc = "Also those of the prompt.",
              .no_flag = kRequests,
              .group = "reports",
              .c = "prompt_logprobs",
              .no_ranks = kNotSent},
             &G::prompt_logprobs),
      option({.name = "decode",
              .doc = "How tokens become text.",
              .no_flag = kInPrograms,
              .group = "text",
              .c = "decode_flags",
              .no_ranks = kNotSent},
             &G::decode),
      option({.name = "shows_control",
              .doc = "Which control tokens appear as text.",
              .no_flag = kInPrograms,
              .group = "text",
              .no_c = "decode_flags",
              .no_ranks = kNotSent},
             &G::shows_control),
      option({.name = "feed_last",
              .doc = "Leave room for the last token, because another text follows.",
              .no_flag = kInPrograms,
              .group = "ends",
              .c = "keep_last_room",
              .no_ranks = kNotSent},
             &G::feed_last),
      option({.name = "feed_prompt",
              .doc = "Compute the prompt even if no token is wanted.",
              .no_flag = kInPrograms,
              .group = "ends",
              .no_c = "weft_generation_prefill()",
              .no_ranks = kNotSent},
             &G::feed_prompt),
      option({.name = "draft",
              .doc = "Guesses tokens (docs/speculation.md).",
              .no_flag = "--spec-type and -md make it",
              .group = "drafts",
              .c = "speculation",
              .no_ranks = kNotSent},
             &G::draft),
      option({.name = "max_guesses",
              .doc = "Guesses in a step of the text at most.",
              .no_flag = "--spec-draft-n-max",
              .group = "drafts",
              .unit = "tokens",
              .no_c = "weft_speculation_options.n_max",
              .no_ranks = kNotSent},
             &G::max_guesses, {0, 1024}),
      option({.name = "cancel",
              .doc = "The flag that cancels the text.",
              .no_flag = kInPrograms,
              .group = "callbacks",
              .no_c = "weft_session_cancel()",
              .no_ranks = kNotSent},
             &G::cancel),
      option({.name = "context_end",
              .doc = "What the text does when the context is full.",
              .no_flag = "the flags of context_knobs()",
              .group = "ends",
              .c = "context_end,keep,discard,cache_evict",
              .no_ranks = kNotSent},
             &G::context_end)};

  static constexpr std::size_t kMembers = 20;
  // Whoever adds a member describes it above.
  static constexpr std::size_t count(G& options) {
    [[maybe_unused]] auto& [sampler, choose, rules, max_tokens_, max_time, ignore_eos_, stop_tokens,
                            min_tokens_, token_healing, lora_scales, logprobs, prompt_logprobs,
                            decode, shows_control, feed_last, feed_prompt, draft, max_guesses,
                            context_end, cancel] = options;
    return kMembers;
  }
};

template <>
struct Described<ContextEndOptions> {
  using C = ContextEndOptions;
  static constexpr std::tuple all{
      option({.name = "context_end",
              .doc = "What a text does when the context is full: it ends (stop, the default), or "
                     "goes on without some of its tokens, which is not exact: without the older "
                     "half (shift), the oldest few (window), or those with the longest keys "
                     "(evict).",
              .flags = "--context-end",
              .group = "context",
              .value = "WHAT",
              .c = "context_end",
              .no_ranks = Described<GenerationOptions>::kNotSent},
             &C::end),
      option({.name = "keep",
              .doc = "First tokens that are never dropped when the context is full; -1 keeps the "
                     "prompt.",
              .flags = "--keep",
              .aliases = {"n_keep", "num_keep"},
              .group = "context",
              .unit = "tokens",
              .value = "N",
              .c = "keep",
              .no_ranks = Described<GenerationOptions>::kNotSent},
             &C::keep, {-1, 0x1p31 - 1}),
      option({.name = "discard",
              .doc = "Tokens that a shift or a window drops at once; 0 takes half for a shift, and "
                     "a sixteenth, 64 to 256, for a window.",
              .flags = "--discard",
              .aliases = {"n_discard"},
              .group = "context",
              .unit = "tokens",
              .value = "N",
              .c = "discard",
              .no_ranks = Described<GenerationOptions>::kNotSent},
             &C::discard, {0, 0x1p31 - 1}),
      option({.name = "cache_evict",
              .doc = "Tokens that evicting leaves of a full context; 0 leaves half of it.",
              .flags = "--cache-evict",
              .group = "context",
              .unit = "tokens",
              .value = "N",
              .c = "cache_evict",
              .no_ranks = Described<GenerationOptions>::kNotSent},
             &C::cells, {0, 0x1p31 - 1})};

  static constexpr std::size_t kMembers = 4;
  static constexpr std::size_t count(C& options) {
    [[maybe_unused]] auto& [end, keep, discard, cells] = options;
    return kMembers;
  }
};

// The numbers of ContextEndOptions: keep, discard and cache_evict.
std::span<const Knob<ContextEndOptions>> context_knobs();

// max_tokens, min_tokens and ignore_eos. Interfaces may have a range of max_tokens of their own.
std::span<const Knob<GenerationOptions>> generation_knobs();

// The others, whose values have forms of their own: stop, stop_token_ids, bad_words,
// t_max_predict_ms and skip_special_tokens, for members of GenerationOptions, of its rules and of
// its decode options.
std::span<const KnobText> generation_texts();

}  // namespace weft
