// Rows of tensors that are not one after the other in their files.

#include <algorithm>
#include <cstring>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/checkpoint.h"

#include "file_part.h"

namespace weft {
namespace {

// Sources of rows that are less than this apart are one: the system reads about as much ahead.
constexpr std::size_t kMaxGap = std::size_t{64} << 10;

// Calls `use` for the runs that have some of the rows first .. last - 1, with these rows counted
// from the beginning of the run.
template <class Use>
void for_runs(const CheckpointTensor& tensor, std::int64_t first, std::int64_t last, Use use) {
  const auto after = std::ranges::upper_bound(tensor.runs, first, {}, &RowRun::first);
  // The first of those that have columns of the same rows.
  auto run =
      std::ranges::lower_bound(tensor.runs.begin(), after, (after - 1)->first, {}, &RowRun::first);
  for (; run != tensor.runs.end() && run->first < last; ++run)
    use(*run, std::max<std::int64_t>(first - run->first, 0),
        std::min(last - run->first, run->n_rows));
}

// Bytes that a run has of each row.
std::int64_t col_bytes(const RowRun& run, const CheckpointTensor& tensor) {
  return run.n_cols ? tensor.spec.dtype.bytes(run.n_cols) : tensor.row_bytes();
}

// Copies elements that are `stride` bytes apart.
void copy_elems(const std::byte* from, std::int64_t stride, std::int64_t elem_bytes,
                std::int64_t n_bytes, std::byte* out) {
  const auto size = static_cast<std::size_t>(elem_bytes);
  for (std::int64_t at = 0; at < n_bytes; at += elem_bytes, from += stride)
    std::memcpy(out + at, from, size);
}

// Bytes from the first of a row to the one after its last.
std::int64_t row_extent(const RowRun& run, const CheckpointTensor& tensor) {
  const std::int64_t n_bytes = col_bytes(run, tensor);
  if (run.elem_stride == 0) return n_bytes;
  const std::int64_t elem_bytes = tensor.spec.dtype.bytes(1);
  return (n_bytes / elem_bytes - 1) * run.elem_stride + elem_bytes;
}

// Bytes from the first of the run to the one after its last row.
std::int64_t extent(const RowRun& run, const CheckpointTensor& tensor) {
  const std::int64_t n_inner = std::min(run.inner, run.n_rows);
  return (run.n_rows - 1) / run.inner * run.outer_stride + (n_inner - 1) * run.row_stride +
         row_extent(run, tensor);
}

// Whether bytes of later rows of the tensor may be between those of the run.
bool has_later_rows(const RowRun& run, const CheckpointTensor& tensor) {
  const std::byte* end = run.data + extent(run, tensor);
  const auto after = std::ranges::upper_bound(tensor.runs, run.first, {}, &RowRun::first);
  return std::any_of(after, tensor.runs.end(), [&](const RowRun& other) {
    return other.part == run.part && other.data < end &&
           other.data + extent(other, tensor) > run.data;
  });
}

// Whether each row begins after the end of the one before.
bool is_ascending(const RowRun& run, std::int64_t row_extent) {
  if (run.row_stride < row_extent) return false;
  return run.inner >= run.n_rows ||
         run.outer_stride >= (run.inner - 1) * run.row_stride + row_extent;
}

// Adds a source of a run, whose sources begin at index `first`, or extends the one before it.
void add_source(const RowSource& added, std::size_t first, std::vector<RowSource>& sources) {
  if (sources.size() > first) {
    RowSource& before = sources.back();
    const auto from_before = static_cast<std::size_t>(added.file_offset - before.file_offset);
    if (from_before <= before.bytes.size() + kMaxGap) {
      before.bytes = {before.bytes.data(),
                      std::max(before.bytes.size(), from_before + added.bytes.size())};
      return;
    }
  }
  sources.push_back(added);
}

void require_rows(const CheckpointTensor& tensor) {
  if (tensor.absent)
    fail<ValueError>("tensor '{}': the file of a rank has only parts of it",
                     printable(tensor.name));
}

}  // namespace

void copy_rows(const CheckpointTensor& tensor, std::int64_t first, std::int64_t last,
               std::byte* out) {
  require_rows(tensor);
  const std::int64_t row_bytes = tensor.row_bytes();
  if (tensor.runs.empty()) {
    std::memcpy(out, tensor.data + first * row_bytes,
                static_cast<std::size_t>((last - first) * row_bytes));
    return;
  }
  const DType type = tensor.spec.dtype;
  for_runs(tensor, first, last, [&](const RowRun& run, std::int64_t begin, std::int64_t end) {
    const std::int64_t n_bytes = col_bytes(run, tensor);
    std::byte* to = out + (run.first + begin - first) * row_bytes + type.bytes(run.first_col);
    for (std::int64_t r = begin; r < end; ++r, to += row_bytes) {
      const std::byte* row = run.data + files::row_offset(run, r);
      if (run.elem_stride == 0) {
        std::memcpy(to, row, static_cast<std::size_t>(n_bytes));
      } else {
        copy_elems(row, run.elem_stride, type.bytes(1), n_bytes, to);
      }
    }
  });
}

std::vector<RowSource> row_sources(const CheckpointTensor& tensor, std::int64_t first,
                                   std::int64_t last) {
  require_rows(tensor);
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
    const std::int64_t in_row = row_extent(run, tensor);
    const std::size_t n_others = sources.size();
    const auto add = [&](std::int64_t from, std::int64_t to, bool is_last) {
      add_source({bytes(run.data + from, to - from), run.part,
                  run.file_offset + static_cast<std::uint64_t>(from), is_last, tensor.lent},
                 n_others, sources);
    };
    const bool has_gaps = run.row_stride != in_row || run.inner < run.n_rows;
    const bool alone = !has_gaps || !has_later_rows(run, tensor);
    // Rows that are among others need all of the run.
    if (!is_ascending(run, in_row)) return add(0, extent(run, tensor), alone && end == run.n_rows);
    for (std::int64_t r = begin, next; r < end; r = next) {
      next = std::min(end, (r / run.inner + 1) * run.inner);
      add(files::row_offset(run, r), files::row_offset(run, next - 1) + in_row, alone);
    }
  });
  return sources;
}

}  // namespace weft
