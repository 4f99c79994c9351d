#pragma once
// A model file as builder code sees it: its keys, and which tensors it has, without their data.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "weft/graph/op_def.h"

namespace weft::arch {

// Reads of absent keys return nullopt (an empty list, 0). A key of another type throws FormatError
// naming file and key.
class ModelSource {
 public:
  virtual ~ModelSource() = default;

  virtual std::string_view file() const = 0;  // for messages
  // The file of this tensor, which is one of several if the model is split.
  virtual std::string_view file_of(std::string_view /*tensor*/) const { return file(); }
  virtual std::optional<std::uint64_t> find_uint(std::string_view key) const = 0;
  virtual std::optional<double> find_float(std::string_view key) const = 0;
  virtual std::optional<bool> find_bool(std::string_view key) const = 0;
  virtual std::optional<std::string_view> find_string(std::string_view key) const = 0;
  // A single integer is a list of one; flags are 0 and 1.
  virtual std::vector<std::int64_t> find_ints(std::string_view key) const = 0;
  virtual std::vector<float> find_floats(std::string_view key) const = 0;  // likewise
  virtual std::int64_t array_size(std::string_view key) const = 0;  // 0 if it is not an array
  // Called for a whole number that builder code requires and the file lacks. A synthetic source may
  // add the key here, and returns true.
  virtual bool make_up(std::string_view /*key*/) const { return false; }

  // Null if the file has no such tensor.
  virtual const TensorSpec* find_tensor(std::string_view name) const = 0;
  virtual std::vector<std::string_view> tensor_names() const = 0;
  // The tensor that builder code declares with this shape; null if the file has none. A synthetic
  // source creates it here.
  virtual const TensorSpec* declare(std::string_view name, const Shape& /*shape*/,
                                    bool /*optional*/) const {
    return find_tensor(name);
  }
};

}  // namespace weft::arch
