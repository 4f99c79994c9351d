#pragma once
// What builder code may know of a model file: its keys and which tensors it holds, no weights.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "weft/graph/op_def.h"

namespace weft {

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
  // A single integer is a list of one; flags are 0 and 1.
  virtual std::vector<std::int64_t> find_ints(std::string_view key) const = 0;
  virtual std::vector<float> find_floats(std::string_view key) const = 0;  // likewise
  virtual std::int64_t array_size(std::string_view key) const = 0;  // 0 if it is not an array

  // Null if the file has no such tensor.
  virtual const TensorSpec* find_tensor(std::string_view name) const = 0;
  virtual std::vector<std::string_view> tensor_names() const = 0;
  // The tensor that builder code asks for with this shape. A file has it or not; a source that
  // makes a model up learns here which tensors there must be, or may be.
  virtual const TensorSpec* declare(std::string_view name, const Shape& /*shape*/,
                                    bool /*optional*/) const {
    return find_tensor(name);
  }
};

}  // namespace weft
