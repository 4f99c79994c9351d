#pragma once
// A model file that is made up while builder code asks for its tensors.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "weft/arch/builder.h"
#include "weft/check/new_model.h"

namespace weft {

class MadeSource final : public ModelSource {
 public:
  // Usual keys of a decoder with 2 layers (D 256, H 8, G 2, E 32, F 512, V 96), and `keys`.
  // Matrices whose rows are whole blocks are of type `matrices`.
  MadeSource(const std::string& architecture,
             const std::vector<std::pair<std::string, NewModelOptions::Value>>& keys,
             DType matrices, bool optional_tensors);

  // Everything that was asked for so far, with random numbers, as a file. The same arguments give
  // the same bytes.
  void write(const std::string& path) const;

  std::string_view file() const override { return "made up"; }
  std::optional<std::uint64_t> find_uint(std::string_view key) const override;
  std::optional<double> find_float(std::string_view key) const override;
  std::optional<bool> find_bool(std::string_view key) const override;
  std::optional<std::string_view> find_string(std::string_view key) const override;
  std::vector<std::int64_t> find_ints(std::string_view key) const override;
  std::int64_t array_size(std::string_view) const override { return 0; }
  const TensorSpec* find_tensor(std::string_view name) const override;
  std::vector<std::string_view> tensor_names() const override;
  const TensorSpec* declare(std::string_view name, const Shape& shape,
                            bool optional) const override;

 private:
  template <class T>
  const T* find(std::string_view key) const;

  std::map<std::string, NewModelOptions::Value, std::less<>> keys_;
  mutable std::map<std::string, TensorSpec, std::less<>> tensors_;
  DType matrices_;
  bool optional_tensors_;
};

}  // namespace weft
