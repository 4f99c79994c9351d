#pragma once
// logit_bias of requests: the amounts added to the logits of tokens.

#include <string_view>
#include <utility>
#include <vector>

#include "weft/api/generation_fields.h"

namespace weft::api {

// The biases as the sampler takes them, each token once. Those of a token in several texts are
// added. Throws ApiError 400 that names `param` for ids that the vocabulary does not have, and for
// duplicate ids.
std::vector<std::pair<TokenId, float>> token_biases(const Model& model, const Bias& given,
                                                    std::string_view param);

}  // namespace weft::api
