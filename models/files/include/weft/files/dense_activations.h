#pragma once
// The functions of dense layers that follow pooling in embedding models.

#include <span>
#include <string_view>

namespace weft {

// The function that follows W x + b in a dense layer.
struct DenseActivation {
  std::string_view name;        // in kDenseActivationsKey (weft/files/weft_keys.h): "tanh"
  std::string_view torch_name;  // in config.json of a Dense module
  double (*apply)(double x);
};

// All that Weft computes: identity, tanh, relu, gelu (by the error function), sigmoid and silu.
std::span<const DenseActivation> dense_activations();

}  // namespace weft
