#pragma once
// Reads config.json, the numbers of a model, as the keys of GGUF files.

#include <cstdint>
#include <string>
#include <vector>

#include "weft/files/metadata.h"

#include "safetensors/json.h"
#include "safetensors/names.h"

namespace weft::safetensors {

struct Config {
  std::string type;  // model_type
  const Architecture* architecture = nullptr;
  std::uint64_t n_heads = 0, n_kv_heads = 0, n_vocab = 0;
  bool tied = false;                // the output matrix is the table of embeddings
  std::vector<float> rope_factors;  // divisors of the angles of rope; empty if there are none
};

// Adds the keys to the writer. Throws FormatError for missing keys and wrong types, and
// UnsupportedError for what the architecture cannot compute: sliding windows, quantized weights,
// other activations, other kinds of rope scaling.
Config read_config(const JsonObject& json, const std::string& name, MetadataSink& writer);

}  // namespace weft::safetensors
