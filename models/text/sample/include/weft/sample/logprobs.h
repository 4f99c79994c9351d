#pragma once
// How likely a model found the tokens of a text, as interfaces of servers report it: by the model's
// own distribution, from its logits before any constraint, bias or sampler changed them. So a token
// that a grammar forced can have a low probability, and what was drawn need not be among the best.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/tokenize/tokenizer.h"

namespace weft {

struct TokenLogprob {
  TokenId token = kNoToken;
  std::string_view bytes;  // what it stands for, perhaps a part of a character; the tokenizer's
  float logprob = 0;       // natural logarithm; -inf where the model rules it out
};

struct TokenLogprobs {
  TokenLogprob chosen;
  std::vector<TokenLogprob> top;  // the likeliest, best first; equal ones by id
};

// `logits` [V] are the model's. Throws ValueError where `chosen` is not one of them.
TokenLogprobs token_logprobs(const Tokenizer& tokenizer, std::span<const float> logits,
                             TokenId chosen, std::size_t n_top);

// In the form of the chat completions of OpenAI's interface: {"token": TEXT, "logprob": X, "bytes":
// [..], "top_logprobs": [{"token", "logprob", "bytes"}, ..]}, and the id besides. Bytes that are no
// UTF-8 are U+FFFD in TEXT; an infinite logarithm is -9999.
std::string to_json(const TokenLogprobs& logprobs);

}  // namespace weft
