#pragma once
// Token probabilities as server APIs report them: from the model's own logits, before any
// constraint, bias or sampler changed them. A token that a grammar forced can therefore have a low
// probability, and the chosen token need not be among the most likely ones.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/tokenize/tokenizer.h"

namespace weft {

struct TokenLogprob {
  TokenId token = kNoToken;
  std::string_view bytes;  // its text, possibly part of a character; owned by the tokenizer
  float logprob = 0;       // natural logarithm; -inf if the model rules it out
};

struct TokenLogprobs {
  TokenLogprob chosen;
  std::vector<TokenLogprob> top;  // the most likely ones, best first; ties by id
};

// `logits` [V] are the model's. Throws ValueError if `chosen` is not a token id.
TokenLogprobs token_logprobs(const Tokenizer& tokenizer, std::span<const float> logits,
                             TokenId chosen, std::size_t n_top);

// In the form of OpenAI's chat completions, with the token's id added: {"token": TEXT, "id": N,
// "logprob": X, "bytes": [..], "top_logprobs": [{"token", "id", "logprob", "bytes"}, ..]}. Bytes
// that are not UTF-8 become U+FFFD in TEXT; -inf becomes -9999.
std::string to_json(const TokenLogprobs& logprobs);

}  // namespace weft
