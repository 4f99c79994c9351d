#pragma once
// Dimensions and shapes. A dimension is fixed, or it is a variable of the graph (T tokens in a
// step, O rows that need logits). A variable has an upper bound at plan time, and every step gives
// its actual extent. The slowest dimension comes first, everywhere.

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace weft {

inline constexpr int kMaxDims = 4;
inline constexpr int kMaxVariables = 8;

// Actual extents of the graph's variables for one step, indexed by Dim::variable.
using Extents = std::array<std::int64_t, kMaxVariables>;

struct Dim {
  std::int64_t bound = 0;      // the extent, or its upper bound if the dimension varies
  std::int32_t variable = -1;  // index of the graph's variable, -1 if the extent is fixed

  constexpr Dim() = default;
  constexpr Dim(std::int64_t fixed) : bound(fixed) {}  // implicit: shapes are written {T, 4096}
  constexpr Dim(std::int64_t upper, std::int32_t var) : bound(upper), variable(var) {}

  constexpr bool varies() const { return variable >= 0; }
  constexpr std::int64_t extent(const Extents& e) const {
    return varies() ? e[static_cast<std::size_t>(variable)] : bound;
  }
  friend constexpr bool operator==(const Dim&, const Dim&) = default;
};

// Up to four dimensions, held by value. Only the first one may vary.
class Shape {
 public:
  constexpr Shape() = default;
  // Throws ShapeError for more than four dimensions, a negative extent, a varying dimension that is
  // not the first, or a product of extents that does not fit in 63 bits.
  Shape(std::initializer_list<Dim> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const Dim> dims);

  constexpr int n_dims() const { return n_dims_; }
  // Negative indices count from the end. REQUIRES: -n_dims() <= i < n_dims().
  constexpr const Dim& operator[](int i) const {
    return dims_[static_cast<std::size_t>(i < 0 ? i + n_dims_ : i)];
  }
  constexpr const Dim* begin() const { return dims_.data(); }
  constexpr const Dim* end() const { return dims_.data() + n_dims_; }

  // A tensor is rows of contiguous elements: rows = the first dimension (1 if there are no others),
  // cols = the product of the others.
  constexpr Dim rows() const { return n_dims_ >= 2 ? dims_[0] : Dim(1); }
  std::int64_t cols() const;   // elements in a row, at the bound if there is one dimension
  std::int64_t elems() const;  // at the bounds
  std::int64_t last() const { return n_dims_ ? (*this)[-1].bound : 1; }

  friend constexpr bool operator==(const Shape&, const Shape&) = default;

 private:
  std::array<Dim, kMaxDims> dims_{};
  int n_dims_ = 0;
};

// "4096", or "?<=512" for a variable, whose name is not known here.
std::string to_string(const Dim& dim);
std::string to_string(const Shape& shape);  // "[?<=512, 32, 128]"

}  // namespace weft
