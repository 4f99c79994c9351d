#pragma once
// The tensors that a kernel gets: typed memory with its extents in this step. Views own nothing.

#include <array>
#include <cstddef>
#include <cstdint>

#include "weft/graph/dtype.h"
#include "weft/graph/shape.h"

namespace weft {

// Rows of a weight that are read from disk when a node needs them: the matrices of experts. Two
// lanes may ask at the same time.
class PagedRows {
 public:
  // The bytes of row r if they are in memory, else null. Valid until the call of the kernel ends.
  virtual const std::byte* find(std::int64_t r) noexcept = 0;
  // Waits for them. Null if the run ends, because it was cancelled or the disk failed: what the
  // kernel computes is then not used.
  virtual const std::byte* wait(std::int64_t r) noexcept = 0;

 protected:
  ~PagedRows() = default;
};

// Rows of contiguous elements: element (r, c) of a tensor of two or more dimensions lies at data +
// r * row_stride + bytes(c). `dims` are the actual extents. An absent optional input has data ==
// nullptr.
struct View {
  std::byte* data = nullptr;
  DType dtype;
  int n_dims = 0;
  std::array<std::int64_t, kMaxDims> dims{};
  std::int64_t row_stride = 0;  // bytes between rows
  // Not null for a weight whose rows are read when they are needed. `data` then has the same bytes,
  // in pages of a file: correct to read, but slow.
  PagedRows* paged = nullptr;

  explicit operator bool() const { return data != nullptr; }

  std::int64_t dim(int i) const { return dims[static_cast<std::size_t>(i < 0 ? i + n_dims : i)]; }
  std::int64_t rows() const { return n_dims >= 2 ? dims[0] : 1; }
  std::int64_t cols() const {
    std::int64_t n = 1;
    for (int i = n_dims >= 2 ? 1 : 0; i < n_dims; ++i) n *= dims[static_cast<std::size_t>(i)];
    return n;
  }

  // Start of row r. REQUIRES: T is the C++ type of the elements or of the format's block.
  template <class T>
  T* row(std::int64_t r) const {
    return reinterpret_cast<T*>(data + r * row_stride);
  }
};

// A part of an output: rows [row0, row1) x elements [col0, col1) of each row. A kernel computes
// exactly this part and writes nothing else.
struct Region {
  std::int64_t row0 = 0, row1 = 0, col0 = 0, col1 = 0;

  static Region whole(const View& v) { return {0, v.rows(), 0, v.cols()}; }
  bool empty() const { return row0 >= row1 || col0 >= col1; }
};

}  // namespace weft
