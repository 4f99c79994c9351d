#pragma once
// What the sources on graphs and architectures share.

#include <memory>
#include <optional>

#include "classes.h"

namespace weft_python {

// Attributes or keys: a dict of bool, int, float and str.
class Values {
 public:
  explicit Values(const py::dict& given);
  const weft_value* data() const { return values_.data(); }
  std::size_t size() const { return values_.size(); }

 private:
  std::deque<std::string> texts_;
  std::vector<weft_value> values_;
};
py::dict dict_of(const weft_value* values, std::size_t n);

// Dimensions as a bound, and the number of a variable or 0.
using Dims = std::vector<std::pair<std::int64_t, std::int32_t>>;
std::vector<weft_dim> dims_of(const Dims& shape);

// The name of a type as numpy knows it. Raises "dtype" for types that numpy lacks.
py::dtype numpy_type(const std::string& dtype);
// An array in the memory of `array`, which `base` keeps.
py::array array_of(const weft_array& array, const py::handle& base);

// The T that a function of the C API gives.
template <class T, class F>
T given_by(F&& f) {
  T value{};
  call([&](weft_error** error) { return f(&value, error); });
  return value;
}

}  // namespace weft_python
