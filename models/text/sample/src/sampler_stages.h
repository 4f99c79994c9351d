#pragma once
// Makers of the sampler stages; the table is in sampler_stages.cpp. `p` are the parameters, as many
// as the table says and all finite (logit_bias: any even number, the biases may be -inf; dry: four
// and any number of token ids).

#include <memory>
#include <span>

#include "weft/sample/sampler.h"

namespace weft::stages {

using Parameters = std::span<const double>;
using Made = std::unique_ptr<SamplerStage>;

// sampler_logits.cpp
Made temperature(Parameters p);
Made dynamic_temperature(Parameters p);
Made penalties(Parameters p);
Made logit_bias(Parameters p);

// sampler_truncation.cpp
Made top_k(Parameters p);
Made top_p(Parameters p);
Made min_p(Parameters p);
Made typical(Parameters p);
Made top_n_sigma(Parameters p);
Made xtc(Parameters p);
Made tail_free(Parameters p);

// sampler_history.cpp
Made dry(Parameters p);

// sampler_adaptive.cpp
Made mirostat1(Parameters p);
Made mirostat2(Parameters p);
Made adaptive_p(Parameters p);

// A count given as a real number, within 0 .. 2^31 - 1.
std::size_t count(double value);

}  // namespace weft::stages
