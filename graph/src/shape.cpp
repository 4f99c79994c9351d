#include "weft/graph/shape.h"

#include "weft/base/error.h"
#include "weft/graph/op_def.h"

namespace weft {

Shape::Shape(std::span<const Dim> dims) {
  if (dims.size() > kMaxDims)
    fail<ShapeError>("a shape has at most {} dimensions, got {}", kMaxDims, dims.size());
  for (const Dim& dim : dims) {
    if (dim.bound < 0) fail<ShapeError>("a dimension cannot be negative, got {}", dim.bound);
    if (dim.varies() && n_dims_ > 0)
      fail<ShapeError>("only the first dimension may vary, dimension {} does", n_dims_);
    dims_[static_cast<std::size_t>(n_dims_++)] = dim;
  }
  // From the last dimension to the first, like cols() and elems(): a row must fit even if there are
  // no rows.
  std::int64_t product = 1;
  for (int i = n_dims_; i-- > 0;) {
    if (__builtin_mul_overflow(product, dims_[static_cast<std::size_t>(i)].bound, &product))
      fail<ShapeError>("{} has too many elements", to_string(*this));
  }
}

std::int64_t Shape::cols() const {
  std::int64_t n = 1;
  for (int i = n_dims_; i-- > (n_dims_ >= 2 ? 1 : 0);) n *= (*this)[i].bound;
  return n;
}

std::int64_t Shape::elems() const {
  std::int64_t n = 1;
  for (int i = n_dims_; i-- > 0;) n *= (*this)[i].bound;
  return n;
}

std::string to_string(const Dim& dim) {
  return dim.varies() ? fmt::format("?<={}", dim.bound) : fmt::format("{}", dim.bound);
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (int i = 0; i < shape.n_dims(); ++i) text += (i ? ", " : "") + to_string(shape[i]);
  return text + "]";
}

std::int64_t TensorSpec::row_bytes() const {
  const std::int64_t cols = shape.cols();
  if (cols % dtype.block_elems() != 0) {
    fail<ShapeError>("rows of {} elements are not whole {} blocks of {}", cols, dtype.name(),
                     dtype.block_elems());
  }
  const std::int64_t blocks = cols / dtype.block_elems();
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(blocks, static_cast<std::int64_t>(dtype.block_bytes()), &bytes)) {
    fail<ShapeError>("{} has too many bytes", to_string(*this));
  }
  return bytes;
}

std::int64_t TensorSpec::bytes() const {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(row_bytes(), shape.rows().bound, &bytes)) {
    fail<ShapeError>("{} has too many bytes", to_string(*this));
  }
  return bytes;
}

std::string to_string(const TensorSpec& spec) {
  return fmt::format("{} {}", spec.dtype.name(), to_string(spec.shape));
}

}  // namespace weft
