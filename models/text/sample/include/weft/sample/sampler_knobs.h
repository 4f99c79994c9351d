#pragma once
// The parameters of SamplerOptions as people set them (weft/base/knob.h): on the command line, in
// requests, and in the table of docs/sampling.md.

#include <span>

#include "weft/base/knob.h"
#include "weft/sample/sampler.h"

namespace weft {

// All numbers, except for the seed. Ranges are those that make sense for the stages, or less where
// the interface that defines a field says so.
std::span<const Knob<SamplerOptions>> sampler_knobs();

// The others, whose values have forms of their own: seed, samplers, logit_bias and
// dry_sequence_breakers, for SamplerOptions::seed, order, logit_bias and dry_breakers.
std::span<const KnobText> sampler_texts();

}  // namespace weft
