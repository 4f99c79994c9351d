#pragma once
// SpeculationOptions as people set them, like SessionOptions in weft/run/session_knobs.h.

#include "weft/run/session_knobs.h"
#include "weft/serve/speculation.h"

namespace weft {

template <>
struct Described<SpeculationOptions> {
  using S = SpeculationOptions;
  static constexpr std::string_view kNoRanks = "rank 0 guesses, the others check the tokens";
  static constexpr std::tuple all{
      option(
          {.name = "type",
           .doc = "Kinds of drafts, of which the first one that has guesses is used; none: nobody "
                  "guesses.",
           .flags = "--spec-type",
           .group = "drafts",
           .value = "NAME,...",
           .c = "type",
           .no_ranks = kNoRanks},
          &S::kinds),
      option({.name = "n_max",
              .doc = "Guesses in a step at most; fewer where they do not pay.",
              .flags = "--spec-draft-n-max,--draft-max,--draft-n,--draft",
              .group = "drafts",
              .unit = "tokens",
              .value = "N",
              .c = "n_max",
              .no_ranks = kNoRanks},
             &S::max_guesses, {1, kMaxGuesses}),
      option({.name = "p_min",
              .doc = "A draft model stops before a guess that it finds less likely.",
              .flags = "--spec-draft-p-min,--draft-p-min",
              .group = "drafts",
              .value = "P",
              .c = "p_min",
              .no_ranks = kNoRanks},
             &S::p_min, {0, 1}),
      option({.name = "ngram_size_n",
              .doc = "How many of the last tokens must have occurred before, for ngram-simple.",
              .flags = "--spec-ngram-size-n",
              .group = "drafts",
              .unit = "tokens",
              .value = "N",
              .c = "ngram_size_n",
              .no_ranks = kNoRanks},
             &S::ngram_size, {1, kMaxNgram}),
      option({.name = "adaptive",
              .doc = "Guess only as much as measured times justify.",
              .flags = "--spec-adaptive,!--no-spec-adaptive",
              .group = "drafts",
              .c = "adaptive",
              .no_ranks = kNoRanks},
             &S::adaptive),
      option(
          {.name = "draft_model",
           .doc = "A smaller model of the same vocabulary that guesses tokens, several of which "
                  "are checked in one step; the text is the same. Or a file with the model's own "
                  "layer for that (draft-mtp), or an EAGLE-3 head (draft-eagle3).",
           .flags = "--model-draft,--spec-draft-model",
           .group = "drafts",
           .value = "FILE",
           .path = true,
           .c = "draft_model",
           .no_ranks = kNoRanks},
          &S::draft_model),
      option({.name = "draft_session",
              .doc = "How the draft model is run; by default like the session of the texts.",
              .no_flag = "draft_session_like(), which is also the default in C",
              .group = "drafts",
              .c = "draft_session",
              .no_ranks = kNoRanks},
             &S::draft_session),
      option({.name = "n_sequences",
              .doc = "Texts use so many of the first sequences of the session; 0: all of them.",
              .no_flag = knobs::kSpecialFlag,
              .group = "drafts",
              .no_c = "all of them",
              .no_ranks = kNoRanks},
             &S::n_sequences, {0, 1 << 16}),
      option({.name = "warn",
              .doc = "Called with a line when a kind is left out.",
              .no_flag = knobs::kSpecialFlag,
              .group = "drafts",
              .c = "log",
              .no_ranks = kNoRanks},
             &S::warn)};

  static constexpr std::size_t kMembers = 9;
  // Whoever adds a member describes it above.
  static constexpr std::size_t count(S& options) {
    [[maybe_unused]] auto& [kinds, max_guesses, p_min, ngram_size, adaptive, draft_model,
                            draft_session, n_sequences, warn] = options;
    return kMembers;
  }
};

}  // namespace weft
