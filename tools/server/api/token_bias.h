#pragma once
// What a request adds to the logits of tokens.

#include <cstdint>
#include <string>
#include <vector>

namespace weft::api {

// The bias of one token, or of each token of a text.
struct TokenBias {
  std::int64_t id = -1;
  std::string text = {};  // instead of an id; empty: `id` counts
  float bias = 0;         // -inf: never
};
using Bias = std::vector<TokenBias>;

}  // namespace weft::api
