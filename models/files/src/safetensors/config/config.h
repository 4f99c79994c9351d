#pragma once
// Reads config.json, the numbers of a model, as the keys of GGUF files.

#include <cstdint>
#include <string>
#include <vector>

#include "weft/files/checkpoint.h"
#include "weft/files/metadata.h"

#include "safetensors/json.h"
#include "safetensors/names.h"

namespace weft::safetensors {

struct Config {
  std::string type;  // model_type
  const arch::Architecture* architecture = nullptr;
  std::uint64_t n_heads = 0, n_kv_heads = 0, n_vocab = 0, n_layers = 0, n_experts = 0;
  std::uint64_t latent_E = 0, latent_Ev = 0;  // per head, in one matrix of latent attention
  bool tied = false;                          // the output matrix is the table of embeddings
  bool other_parts = false;                   // the model also reads images or sound
  bool next_tokens = false;                   // layers behind n_layers predict further tokens
  bool classifies = false;                    // it was trained to classify texts
  std::vector<std::string> labels;            // names of the classes, if the file has them
  bool without_head = false;                  // its class has layers alone, for embeddings
  std::uint64_t position_offset = 0;          // learned positions that no token has
  std::vector<NamedFloats> rope_factors;      // divisors of the angles of rope
};

// Adds the keys to the sink. For models of several parts, those of the part that reads text. Throws
// FormatError for missing keys and wrong types, and UnsupportedError for settings that the
// architecture cannot compute, and for unknown keys unless they are allowed.
Config read_config(const JsonObject& json, const std::string& name, MetadataSink& sink,
                   const OpenOptions& options = {});

}  // namespace weft::safetensors
