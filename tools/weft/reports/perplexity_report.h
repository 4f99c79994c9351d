#pragma once
// The results of `weft perplexity`, as text and as JSON.

#include <cstdint>
#include <string>

#include "weft/measure/perplexity.h"

namespace weft::tools {

struct PerplexityReport {
  std::string model;
  std::int64_t window = 0, windows = 0;
  Mean nll;
  Comparison comparison;  // empty if there is nothing to compare with

  Estimate perplexity() const { return weft::perplexity(nll); }
};

std::string to_text(const PerplexityReport& report);
std::string to_json(const PerplexityReport& report);

}  // namespace weft::tools
