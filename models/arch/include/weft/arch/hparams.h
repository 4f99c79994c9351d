#pragma once
// Hyper-parameters: the numbers of a model, read once from the keys of its file and checked. One
// reader serves all architectures; keys that a single architecture has are read by its own file
// through ModelSource. Keys: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/op_def.h"
#include "weft/ops/rope_angles.h"

namespace weft {

// What builder code may know of a model file: its keys and which tensors it holds, no weights.
// Reads of absent keys give nullopt (an empty list, 0); a key of another type throws FormatError
// naming file and key.
class ModelSource {
 public:
  virtual ~ModelSource() = default;

  virtual std::string_view file() const = 0;  // for messages
  virtual std::optional<std::uint64_t> find_uint(std::string_view key) const = 0;
  virtual std::optional<double> find_float(std::string_view key) const = 0;
  virtual std::optional<bool> find_bool(std::string_view key) const = 0;
  virtual std::optional<std::string_view> find_string(std::string_view key) const = 0;
  virtual std::vector<std::int64_t> find_ints(
      std::string_view key) const = 0;  // a single integer is a list of one
  virtual std::int64_t array_size(std::string_view key) const = 0;  // 0 for what is no array

  virtual const TensorSpec* find_tensor(
      std::string_view name) const = 0;  // null where the file has none
  virtual std::vector<std::string_view> tensor_names() const = 0;
  // The tensor that builder code asks for with this shape. A file has it or not; a source that
  // makes a model up learns here what there must be, or may be.
  virtual const TensorSpec* declare(std::string_view name, const Shape& /*shape*/,
                                    bool /*optional*/) const {
    return find_tensor(name);
  }
};

enum class RopeScaling : std::uint8_t { none, linear, yarn, longrope };

// The letters are those of the shape comments.
struct Hparams {
  std::string arch;
  std::int64_t L = 0;        // layers
  std::int64_t D = 0;        // model width
  std::int64_t H = 0;        // query heads
  std::int64_t G = 0;        // kv heads; divides H
  std::int64_t E = 0;        // elements of a query or key head
  std::int64_t Ev = 0;       // elements of a value head
  std::int64_t F = 0;        // ffn width
  std::int64_t V = 0;        // vocabulary
  std::int64_t context = 0;  // positions it was trained for
  std::int64_t n_experts = 0;
  float eps = 0;              // of RMS norms
  float attention_scale = 0;  // of q.k: 1 / sqrt(E) unless the architecture says otherwise
  RopeAttrs rope;             // original_context is always set
  RopeScaling rope_scaling = RopeScaling::none;
  // Numbers that only this architecture has: its configure() puts them here, its builder takes
  // them.
  std::map<std::string, float, std::less<>> own;
};

// Reads and checks the keys "ARCH.*". Throws FormatError "FILE: key 'llama.block_count' is 0, must
// be 1..4096" and UnsupportedError for numbers that are well-formed but differ from layer to layer.
Hparams read_hparams(const ModelSource& source, std::string_view arch);

}  // namespace weft
