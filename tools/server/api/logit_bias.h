#pragma once
// logit_bias of requests.

#include <string_view>
#include <utility>
#include <vector>

#include "weft/tokenize/tokenizer.h"

#include "api/forms.h"
#include "api/token_bias.h"

namespace weft {
class Model;
}

namespace weft::api {

// {"15": -100, "Hello": -1} or [[15, -100], ["Hello", -1]]; false: never. Wrong values are errors
// of the whole field.
Form<Bias> bias_form(double limit = 100);

// The biases as the sampler takes them, each token once. Those of a token in several texts are
// added. Throws ApiError 400 that names `param` for ids that the vocabulary does not have, and for
// duplicate ids.
std::vector<std::pair<TokenId, float>> token_biases(const Model& model, const Bias& given,
                                                    std::string_view param);

}  // namespace weft::api
