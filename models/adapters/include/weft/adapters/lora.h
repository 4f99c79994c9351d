#pragma once
// A LoRA (low-rank adaptation) in a GGUF file. Weight w of the model becomes
//
//   w' = w + s u v      w [N, K]     u [N, R]     v [R, K]     (each matrix of experts or heads [X,
//   N, K]) s = the scale of the sequence * alpha / R, or the scale alone if alpha is 0
//
// Source: Hu et al. 2021, arXiv:2106.09685. The file has general.type "adapter", adapter.type
// "lora", adapter.lora.alpha, the general.architecture of its model, and for each adapted tensor W
// the tensors W.lora_a and W.lora_b. They are v and u; for token_embd.weight they are u and v, with
// v transposed (https://github.com/ggml-org/llama.cpp/blob/master/src/llama-adapter.cpp).

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/files/checkpoint.h"
#include "weft/graph/graph.h"

namespace weft {

// A matrix of a low-rank product. No tensor: nothing needs it in this form.
struct LowRankMatrix {
  const CheckpointTensor* tensor = nullptr;
  Shape shape;
  bool made = false;  // by Lora::prepare(), it is not in the file
};

// The matrices of one adapted weight.
struct LowRank {
  std::int64_t rank = 0;       // R
  float factor = 1;            // alpha / R, or 1
  LowRankMatrix u;             // [N, R] or [X, N, R]
  LowRankMatrix v;             // [R, K] or [X, R, K]
  LowRankMatrix v_transposed;  // [K, R]
};

class Lora {
 public:
  using Weights = std::map<std::string, LowRank, std::less<>>;  // by the name of the model's tensor

  // Reads an adapter of `model`. Throws IoError, FormatError, ShapeError and UnsupportedError with
  // the file, and the key or the tensor: another kind of file, an adapter of another architecture,
  // a tensor that adapts none of the model's, shapes that do not fit, one matrix without the other,
  // numbers that are not finite, activated LoRAs.
  static Lora open(const std::string& path, const Checkpoint& model);

  // Makes the matrices in the form that a graph needs: rows of a table are looked up in u and
  // multiplied by v transposed. Throws UnsupportedError if the graph uses an adapted weight in
  // another way than in linear, expert_linear, head_linear and get_rows. Call it once, with the
  // graphs of the model as they were built.
  void prepare(std::span<const Graph* const> graphs);

  const Checkpoint& file() const { return file_; }
  const std::string& path() const { return file_.path(); }
  const Weights& weights() const { return weights_; }
  // The matrices that graphs need, under the names that they have there.
  std::vector<AddedTensor> tensors(std::size_t index) const;
  // Names of adapted tensors that no graph uses.
  const std::vector<std::string>& unused() const { return unused_; }

 private:
  explicit Lora(Checkpoint file) : file_(std::move(file)) {}
  void read_keys(const Checkpoint& model);
  void read_pairs(const Checkpoint& model);
  void make_transposed(const std::vector<std::string>& names);

  Checkpoint file_;
  std::optional<Checkpoint> made_;
  float alpha_ = 0;
  Weights weights_;
  std::vector<std::string> unused_;
};

// The pass "lora": adds s u (v x) to every projection by an adapted weight, and likewise to the
// rows of an adapted table. s is one number per token, from the new input lora_scale_name(index)
// [T, 1] f32: tokens whose scale is 0 are not changed.
Graph add_lora(const Graph& graph, const Lora& lora, std::size_t index);
std::string lora_scale_name(std::size_t index);  // "lora.0.scale"

}  // namespace weft
