#pragma once
// The options of a generation that people set besides those of the sampler
// (weft/sample/sampler_knobs.h), as they see them.

#include <span>

#include "weft/base/knob.h"
#include "weft/serve/generation.h"

namespace weft {

// max_tokens, min_tokens and ignore_eos. Interfaces may have a range of max_tokens of their own.
std::span<const Knob<GenerationOptions>> generation_knobs();

// The others, whose values have forms of their own: stop, stop_token_ids, bad_words,
// t_max_predict_ms and skip_special_tokens, for members of GenerationOptions, of its rules and of
// its decode options.
std::span<const KnobText> generation_texts();

}  // namespace weft
