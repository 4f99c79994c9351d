#pragma once
// Keys that only Weft uses in GGUF files: what sentence-transformers' modules do with the vectors
// of tokens and GGUF has no key for. `weft convert` writes them, weft/serve/embeddings.h reads
// them.

#include <span>
#include <string_view>

#include "weft/arch/dense_names.h"

namespace weft {

// String: a pooling without a number in ARCH.pooling_type, or several: "cls+max" (see pooling.h).
inline constexpr const char* kPoolingKey = "weft.embedding.pooling";

// Strings: the activations of dense_2, dense_3, ... (weft/arch/dense_names.h) in this order.
// Absent: none has one.
inline constexpr const char* kDenseActivationsKey = "weft.embedding.dense_activations";

// Bool: whether vectors of texts have length 1. Absent: they have.
inline constexpr const char* kNormalizeKey = "weft.embedding.normalize";

// u32: the number of tokens of the longest text for which the model is meant, special tokens
// included.
inline constexpr const char* kMaxTokensKey = "weft.embedding.max_tokens";

// The function that follows W x + b in a dense layer.
struct DenseActivation {
  std::string_view name;        // in kDenseActivationsKey: "tanh"
  std::string_view torch_name;  // in config.json of a Dense module
  double (*apply)(double x);
};

// All that Weft computes: identity, tanh, relu, gelu (by the error function), sigmoid and silu.
std::span<const DenseActivation> dense_activations();

}  // namespace weft
