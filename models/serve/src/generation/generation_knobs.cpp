#include "weft/serve/generation_knobs.h"

namespace weft {
namespace {

using G = GenerationOptions;

constexpr KnobRange kTokens{0, 0x1p40};  // sums of lengths are far from overflow

constexpr Knob<G> kGenerationKnobs[] = {
    {{.name = "max_tokens",
      .doc = "Number of tokens to generate at most; -1 means until the text ends or the context is "
             "full.",
      .flags = "-n,--predict,--n-predict",
      .aliases = {"n_predict", "num_predict", "max_completion_tokens", "max_output_tokens"}},
     &G::max_tokens,
     {-1, kTokens.max}},
    {{.name = "min_tokens",
      .doc = "Number of tokens to generate before the text may end; 0 lets it end at once.",
      .no_flag = "programs have --ignore-eos, for texts of a given length"},
     &G::min_tokens,
     kTokens},
    {{.name = "ignore_eos",
      .doc = "Never choose a token that ends the text; by default, the model may end it.",
      .flags = "--ignore-eos"},
     &G::ignore_eos},
};

constexpr KnobText kGenerationTexts[] = {
    {.name = "stop",
     .doc = "Texts before the first of which the generated text ends; an empty list switches this "
            "off.",
     .flags = "-r,--stop,--reverse-prompt"},
    {.name = "stop_token_ids",
     .doc = "Tokens that end the text besides the model's own; an empty list adds none.",
     .no_flag = "--stop names the text of a token"},
    {.name = "bad_words",
     .doc = "Texts that are never generated; an empty list forbids none.",
     .flags = "--ban"},
    {.name = "t_max_predict_ms",
     .doc =
         "Milliseconds after its first token until the text ends, as soon as it has a line break; "
         "values below 1 set no limit.",
     .no_flag = "Ctrl-C ends the text of a program"},
    {.name = "skip_special_tokens",
     .doc = "Leave control tokens out of the text; false shows them.",
     .no_flag = "programs never show control tokens"},
};

}  // namespace

std::span<const Knob<GenerationOptions>> generation_knobs() {
  return kGenerationKnobs;
}

std::span<const KnobText> generation_texts() {
  return kGenerationTexts;
}

}  // namespace weft
