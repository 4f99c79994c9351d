#pragma once
// The modules of sentence-transformers: modules.json, and config.json and weights of each.
// Source of the format: sentence_transformers/base/model.py and modules/*.py.

#include <optional>
#include <string>
#include <vector>

#include "safetensors/modules/transformer_module.h"
#include "safetensors/shards.h"

namespace weft::safetensors {

// y = activation(W x + b)
struct DenseModule {
  std::string name;  // "dense_2"
  std::string activation;
  Shard file;
  StoredTensor weight;  // [out, in]
  std::optional<StoredTensor> bias;
};

struct Modules {
  bool listed = false;      // the directory has modules.json
  std::string transformer;  // folder of the model's own files
  TransformerModule text;   // how the model reads texts; the default if `listed` is false
  std::string pooling;      // config.json of the module; empty if there is none
  std::vector<DenseModule> dense;
  bool normalizes = false;
  std::string scoring;  // folder of the LogitScore of a cross-encoder; empty if there is none
};

// Without modules.json, the model is in the directory itself, and pooling is that of 1_Pooling.
// Throws FormatError and UnsupportedError "FILE: module 2 'Dense': ..." for modules that Weft does
// not have, a wrong order, and weights that do not fit.
Modules read_modules(const std::string& directory);

}  // namespace weft::safetensors
