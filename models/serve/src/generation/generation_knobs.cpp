#include "weft/serve/generation_knobs.h"

namespace weft {
namespace {

using D = Described<GenerationOptions>;

template <class M>
constexpr Knob<GenerationOptions> knob(const Option<GenerationOptions, M>& option) {
  return {option, option.member, option.range};
}
constexpr Knob<GenerationOptions> kGenerationKnobs[] = {knob(D::max_tokens), knob(D::min_tokens),
                                                        knob(D::ignore_eos)};

template <std::size_t i>
constexpr Knob<ContextEndOptions> context_knob() {
  const auto& option = std::get<i>(Described<ContextEndOptions>::all);
  return {option, option.member, option.range};
}
constexpr Knob<ContextEndOptions> kContextKnobs[] = {context_knob<1>(), context_knob<2>(),
                                                     context_knob<3>()};

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

std::span<const Knob<ContextEndOptions>> context_knobs() {
  return kContextKnobs;
}

std::span<const KnobText> generation_texts() {
  return kGenerationTexts;
}

}  // namespace weft
