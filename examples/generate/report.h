#pragma once
// Reports of generate about its texts.

#include <cstdint>
#include <string>

#include "weft/sample/beam_search.h"
#include "weft/serve/generation.h"

namespace weft::generate {

struct Stage {
  std::int64_t tokens = 0;
  std::int64_t fed = 0;  // the last one written is not
  double seconds = 0;
  std::string to_text(const char* name) const;
};

// The speeds of both stages, and how much of the prompt came from a cache.
std::string summary(const Stage& prompt, const Stage& generated, std::int64_t n_cached);

// " upon" -0.0123   " upon" -0.0123  " a" -4.5678
std::string line_of(const TokenLogprobs& logprobs);
// beam 1: score -0.5123, log probability -12.29, 24 tokens
std::string line_of(std::size_t number, const Hypothesis& found);
// That a text went on at the end of the context, if it dropped tokens there.
std::string remark(std::int64_t n_dropped, ContextEnd end);
// Why a text ended, if that is not obvious.
std::string remark(StopReason stop);

}  // namespace weft::generate
