// Rows of tensors that are not one after the other in their files.

#include <algorithm>
#include <cstring>

#include "weft/files/checkpoint.h"

namespace weft {
namespace {

// Calls `use` for the runs that have some of the rows first .. last - 1, with these rows counted
// from the beginning of the run.
template <class Use>
void for_runs(const CheckpointTensor& tensor, std::int64_t first, std::int64_t last, Use use) {
  const auto after = std::ranges::upper_bound(tensor.runs, first, {}, &RowRun::first);
  for (auto run = after - 1; run != tensor.runs.end() && run->first < last; ++run)
    use(*run, std::max<std::int64_t>(first - run->first, 0),
        std::min(last - run->first, run->n_rows));
}

std::int64_t row_offset(const RowRun& run, std::int64_t row) {
  return row / run.inner * run.outer_stride + row % run.inner * run.row_stride;
}

// Copies elements that are `stride` bytes apart.
void copy_elems(const std::byte* from, std::int64_t stride, std::int64_t elem_bytes,
                std::int64_t n_bytes, std::byte* out) {
  const auto size = static_cast<std::size_t>(elem_bytes);
  for (std::int64_t at = 0; at < n_bytes; at += elem_bytes, from += stride)
    std::memcpy(out + at, from, size);
}

// Bytes from the first of the run to the one after its last row.
std::int64_t extent(const RowRun& run, const CheckpointTensor& tensor) {
  std::int64_t in_row = tensor.row_bytes();
  if (run.elem_stride != 0) {
    const std::int64_t elem_bytes = tensor.spec.dtype.bytes(1);
    in_row = (in_row / elem_bytes - 1) * run.elem_stride + elem_bytes;
  }
  const std::int64_t n_inner = std::min(run.inner, run.n_rows);
  return (run.n_rows - 1) / run.inner * run.outer_stride + (n_inner - 1) * run.row_stride + in_row;
}

}  // namespace

void copy_rows(const CheckpointTensor& tensor, std::int64_t first, std::int64_t last,
               std::byte* out) {
  const std::int64_t row_bytes = tensor.row_bytes();
  if (tensor.runs.empty()) {
    std::memcpy(out, tensor.data + first * row_bytes,
                static_cast<std::size_t>((last - first) * row_bytes));
    return;
  }
  for_runs(tensor, first, last, [&](const RowRun& run, std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r, out += row_bytes) {
      const std::byte* row = run.data + row_offset(run, r);
      if (run.elem_stride == 0) {
        std::memcpy(out, row, static_cast<std::size_t>(row_bytes));
      } else {
        copy_elems(row, run.elem_stride, tensor.spec.dtype.bytes(1), row_bytes, out);
      }
    }
  });
}

std::vector<RowSource> row_sources(const CheckpointTensor& tensor, std::int64_t first,
                                   std::int64_t last) {
  const std::int64_t row_bytes = tensor.row_bytes();
  const auto bytes = [](const std::byte* data, std::int64_t n) {
    return std::span(data, static_cast<std::size_t>(n));
  };
  if (tensor.runs.empty()) {
    const auto offset = static_cast<std::uint64_t>(first * row_bytes);
    return {{bytes(tensor.data + offset, (last - first) * row_bytes), tensor.part,
             tensor.file_offset + offset, true, tensor.lent}};
  }
  std::vector<RowSource> sources;
  for_runs(tensor, first, last, [&](const RowRun& run, std::int64_t begin, std::int64_t end) {
    // Rows that are among others need all of the run.
    if (run.row_stride != row_bytes || run.inner < run.n_rows) {
      sources.push_back({bytes(run.data, extent(run, tensor)), run.part, run.file_offset,
                         end == run.n_rows, tensor.lent});
      return;
    }
    sources.push_back({bytes(run.data + begin * row_bytes, (end - begin) * row_bytes), run.part,
                       run.file_offset + static_cast<std::uint64_t>(begin * row_bytes), true,
                       tensor.lent});
  });
  return sources;
}

}  // namespace weft
