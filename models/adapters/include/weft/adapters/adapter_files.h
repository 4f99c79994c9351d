#pragma once
// Which adapters a model is loaded with.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft {

// A LoRA in a GGUF file: products of two narrow matrices, which are added to weights of the model.
struct LoraFile {
  std::string path;
  float scale = 1;  // for every sequence, until Session::set_lora_scales() changes it
};

// A control vector in a GGUF file: a direction per layer, added to the residual stream.
struct ControlVectorFile {
  std::string path;
  float scale = 1;
};

// Layers that control vectors change, both inclusive. Layer 0 never has a direction.
struct ControlLayers {
  std::int64_t first = 1, last = 1;
};

struct AdapterFiles {
  std::vector<LoraFile> loras;                     // numbered from 0 in this order
  std::vector<ControlVectorFile> control_vectors;  // their sum is added
  std::optional<ControlLayers> control_layers;     // none: all of the model

  bool empty() const { return loras.empty() && control_vectors.empty() && !control_layers; }
};

// Throws ValueError "FILE: the scale must be a finite number, got nan".
void check_scale(const std::string& path, float scale);

}  // namespace weft
