#pragma once
// Hyper-parameters of a model, read once from the keys of its file and checked. This header has
// those that most decoders share. An architecture with more derives a struct from Hparams and reads
// them in its own file.
// Keys: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md

#include <cstdint>
#include <string>
#include <vector>

#include "weft/arch/keys.h"
#include "weft/ops/rope_angles.h"

namespace weft {

enum class RopeScaling : std::uint8_t { none, linear, yarn, longrope };

// The hyper-parameters of a layer. The letters are those of the shape comments.
struct LayerHparams {
  std::int64_t H = 0;        // query heads
  std::int64_t G = 0;        // kv heads; divides H
  std::int64_t E = 0;        // elements of a query or key head
  std::int64_t Ev = 0;       // elements of a value head
  std::int64_t F = 0;        // ffn width
  bool second_rope = false;  // uses Decoder::second_rope
};

struct Hparams {
  std::string arch;
  std::int64_t L = 0;        // layers
  std::int64_t D = 0;        // model width
  std::int64_t V = 0;        // vocabulary
  std::int64_t context = 0;  // positions that the model was trained for
  std::int64_t n_experts = 0;
  float eps = 0;   // of norms
  RopeAttrs rope;  // original_context is always set
  RopeScaling rope_scaling = RopeScaling::none;
  std::vector<LayerHparams> layers;  // [L]

  const LayerHparams& layer(std::int64_t i) const { return layers[static_cast<std::size_t>(i)]; }
};

// The minimum values that an architecture supports. Zero means that a layer may have no query
// heads, kv heads or ffn.
struct LayerMinima {
  std::int64_t H = 1, G = 1, F = 1;
};

// Reads and checks the keys that decoders share. Head counts and ffn widths may be one number or
// one per layer. Throws FormatError like Keys, and UnsupportedError for unknown kinds of rope
// scaling.
Hparams read_hparams(const Keys& keys, const LayerMinima& minima = {});

// Throws UnsupportedError "FILE: mixture of 8 experts (llama.expert_count) is not supported".
void require_dense(const Keys& keys, const Hparams& c);

}  // namespace weft
