#include "tensor_parts.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "weft/base/checksum.h"
#include "weft/base/error.h"
#include "weft/base/printable.h"

#include "file_part.h"

namespace weft::files {
namespace {

using PartRange = std::pair<std::int64_t, std::int64_t>;
using PartRanges = std::vector<PartRange>;

template <class... Args>
[[noreturn]] void refuse_cut(const CheckpointTensor& source, fmt::format_string<Args...> text,
                             Args&&... args) {
  throw ValueError(fmt::format("tensor '{}': ", printable(source.name)) +
                   fmt::format(text, std::forward<Args>(args)...));
}

void check_ranges(const CheckpointTensor& source, const TensorCut& part) {
  const TensorSpec& spec = source.spec;
  const int rank = spec.shape.n_dims();
  if (part.axis < 0 || part.axis >= rank)
    refuse_cut(source, "axis {} must be below {}, the rank of {}", part.axis, rank,
               to_string(spec.shape));
  const std::int64_t n = spec.shape[part.axis].bound;
  const std::int64_t block = part.axis == rank - 1 ? spec.dtype.block_elems() : 1;
  for (const auto& [first, last] : part.ranges) {
    if (first < 0 || first >= last || last > n)
      refuse_cut(source, "range {}..{} of axis {} must not be empty, and be within 0..{}", first,
                 last, part.axis, n);
    if (first % block != 0 || last % block != 0)
      refuse_cut(source, "columns {}..{} of {} are not whole blocks of {}", first, last,
                 spec.dtype.name(), block);
  }
  PartRanges sorted = part.ranges;
  std::ranges::sort(sorted);
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i].first < sorted[i - 1].second)
      refuse_cut(source, "ranges {}..{} and {}..{} of axis {} overlap", sorted[i - 1].first,
                 sorted[i - 1].second, sorted[i].first, sorted[i].second, part.axis);
  }
}

// The ranges, with those joined that continue the one before. All of an axis of n if there are
// none.
PartRanges join_ranges(const PartRanges& ranges, std::int64_t n) {
  if (ranges.empty()) return {{0, n}};
  PartRanges joined;
  for (const PartRange& range : ranges) {
    if (!joined.empty() && joined.back().second == range.first)
      joined.back().second = range.second;
    else
      joined.push_back(range);
  }
  return joined;
}

// The product of some dimensions.
std::int64_t product(const Shape& shape, int first, int last) {
  std::int64_t n = 1;
  for (int i = first; i < last; ++i) n *= shape[i].bound;
  return n;
}

void move_data(RowRun& run, std::int64_t n_bytes) {
  run.data += n_bytes;
  run.file_offset += static_cast<std::uint64_t>(n_bytes);
}

// Takes rows or columns out of the runs of a tensor.
class RunCutter {
 public:
  explicit RunCutter(const CheckpointTensor& source)
      : source_(source), whole_(whole_run(source, 0)), from_(source.runs) {
    if (from_.empty()) from_ = std::span(&whole_, 1);
  }

  std::vector<RowRun> columns(std::span<const PartRange> ranges) {
    for (std::span<const RowRun> left = from_; !left.empty();) {
      const std::span<const RowRun> group = first_group(left);
      left = left.subspan(group.size());
      std::int64_t col = 0;  // the next one in the part
      for (const PartRange& range : ranges) {
        for (const RowRun& run : group) col += add_columns(run, range, col);
      }
    }
    return std::move(runs_);
  }

  // Takes ranges of `dim`. The tensor has n_outer * dim * n_inner rows.
  std::vector<RowRun> rows(std::int64_t n_outer, std::int64_t dim, std::int64_t n_inner,
                           std::span<const PartRange> ranges) {
    if (source_.runs.empty() && ranges.size() == 1) {
      const auto [first, last] = ranges.front();
      const std::int64_t n = (last - first) * n_inner;
      RowRun run = whole_;
      move_data(run, first * n_inner * run.row_stride);
      run.n_rows = n_outer * n;
      run.inner = n;
      run.outer_stride = dim * n_inner * run.row_stride;
      return {run};
    }
    for (std::int64_t outer = 0; outer < n_outer * dim; outer += dim) {
      for (const auto& [first, last] : ranges)
        add_rows((outer + first) * n_inner, (outer + last) * n_inner);
    }
    return std::move(runs_);
  }

 private:
  // Those with the columns of the same rows.
  static std::span<const RowRun> first_group(std::span<const RowRun> runs) {
    const auto end = std::ranges::find_if(
        runs, [&](const RowRun& run) { return run.first != runs.front().first; });
    return {runs.begin(), end};
  }

  // Appends the columns of the range that the run has, which begin at column `col` of the part.
  // Returns how many they are.
  std::int64_t add_columns(const RowRun& run, const PartRange& range, std::int64_t col) {
    const std::int64_t n_cols = run.n_cols ? run.n_cols : source_.spec.shape.last();
    const std::int64_t first = std::max(range.first, run.first_col),
                       last = std::min(range.second, run.first_col + n_cols);
    if (first >= last) return 0;
    RowRun& part = runs_.emplace_back(run);
    const std::int64_t skipped = first - run.first_col;
    move_data(part,
              run.elem_stride ? skipped * run.elem_stride : source_.spec.dtype.bytes(skipped));
    part.first_col = col;
    part.n_cols = last - first;
    return part.n_cols;
  }

  void add_rows(std::int64_t first, std::int64_t last) {
    while (first < last) {
      const auto after = std::ranges::upper_bound(from_, first, {}, &RowRun::first);
      const auto begin =
          std::ranges::lower_bound(from_.begin(), after, (after - 1)->first, {}, &RowRun::first);
      const std::int64_t of_run = begin->first, end = std::min(last, of_run + begin->n_rows);
      add_group_rows({begin, after}, first - of_run, end - of_run);
      first = end;
    }
  }

  // Rows are counted from the beginning of the group's runs, which have the same strides.
  void add_group_rows(std::span<const RowRun> group, std::int64_t first, std::int64_t last) {
    const std::int64_t inner = group.front().inner, end_of_whole = last / inner * inner;
    while (first < last) {
      // Rows of a block that is not taken as a whole are a run of their own.
      const bool whole = first % inner == 0 && first < end_of_whole;
      const std::int64_t end = whole ? end_of_whole : std::min(last, (first / inner + 1) * inner);
      for (const RowRun& run : group) {
        RowRun& part = runs_.emplace_back(run);
        move_data(part, row_offset(run, first));
        part.first = n_rows_;
        part.n_rows = end - first;
      }
      n_rows_ += end - first;
      first = end;
    }
  }

  const CheckpointTensor& source_;
  const RowRun whole_;
  std::span<const RowRun> from_;
  std::vector<RowRun> runs_;
  std::int64_t n_rows_ = 0;  // of runs_
};

}  // namespace

std::vector<std::pair<const CheckpointTensor*, const TensorPart*>> in_file_order(
    const Checkpoint& file, std::span<const TensorPart> parts) {
  std::vector<std::pair<const CheckpointTensor*, const TensorPart*>> found;
  for (const TensorPart& part : parts) {
    const CheckpointTensor* source = file.find_tensor(part.source);
    if (!source)
      fail<ValueError>("{}: has no tensor '{}'", printable_path(file.path()),
                       printable(part.source));
    found.emplace_back(source, &part);
  }
  std::ranges::stable_sort(found, {}, [](const auto& pair) { return pair.first; });
  return found;
}

namespace {

// What the ranges leave of a shape.
Shape shape_of_cut(const Shape& shape, int axis, const PartRanges& ranges) {
  std::array<Dim, kMaxDims> dims{};
  std::ranges::copy(shape, dims.begin());
  std::int64_t& n = dims[static_cast<std::size_t>(axis)].bound;
  n = 0;
  for (const auto& [first, last] : ranges) n += last - first;
  return Shape(std::span(dims).first(static_cast<std::size_t>(shape.n_dims())));
}

// The runs are those of the source, unless `runs` receives others.
CheckpointTensor cut_axis(const CheckpointTensor& source, const TensorCut& part,
                          std::vector<RowRun>& runs) {
  check_ranges(source, part);
  const Shape& shape = source.spec.shape;
  const int rank = shape.n_dims();
  const std::int64_t dim = shape[part.axis].bound;
  const PartRanges ranges = join_ranges(part.ranges, dim);
  if (ranges == PartRanges{{0, dim}}) return source;
  CheckpointTensor cut = source;
  cut.spec.shape = shape_of_cut(shape, part.axis, ranges);
  cut.n_bytes = cut.spec.dtype.bytes(cut.spec.shape.elems());

  const std::int64_t n_outer = product(shape, 0, part.axis);
  if (source.runs.empty() && n_outer == 1 && ranges.size() == 1) {
    const std::int64_t skipped =
        source.spec.dtype.bytes(ranges.front().first * product(shape, part.axis + 1, rank));
    cut.data += skipped;
    cut.file_offset += static_cast<std::uint64_t>(skipped);
    return cut;
  }
  RunCutter cutter(source);
  runs = part.axis == rank - 1
             ? cutter.columns(ranges)
             : cutter.rows(n_outer, dim, product(shape, part.axis + 1, rank - 1), ranges);
  cut.data = nullptr;
  cut.part = runs.front().part;
  cut.file_offset = runs.front().file_offset;
  return cut;
}

}  // namespace

CheckpointTensor cut_part(const CheckpointTensor& source, const TensorPart& part,
                          std::vector<RowRun>& runs) {
  CheckpointTensor left = source;
  for (const TensorCut& cut : part.cuts) {
    std::vector<RowRun> made;
    left = cut_axis(left, cut, made);
    if (made.empty()) continue;
    runs = std::move(made);
    left.runs = runs;
  }
  return left;
}

Shape shape_of_part(const CheckpointTensor& source, const TensorPart& part) {
  CheckpointTensor left = source;
  for (const TensorCut& cut : part.cuts) {
    check_ranges(left, cut);
    left.spec.shape = shape_of_cut(left.spec.shape, cut.axis,
                                   join_ranges(cut.ranges, left.spec.shape[cut.axis].bound));
  }
  return left.spec.shape;
}

std::uint64_t hash_parts(std::span<const TensorPart> parts) {
  Checksum sum;
  const auto add_number = [&](std::int64_t n) { sum.add(std::as_bytes(std::span(&n, 1))); };
  const auto add_text = [&](std::string_view text) {
    add_number(std::ssize(text));
    sum.add(std::as_bytes(std::span(text)));
  };
  for (const TensorPart& part : parts) {
    add_text(part.name);
    add_text(part.source);
    add_number(std::ssize(part.cuts));
    for (const TensorCut& cut : part.cuts) {
      add_number(cut.axis);
      add_number(std::ssize(cut.ranges));
      for (const auto& [first, last] : cut.ranges) {
        add_number(first);
        add_number(last);
      }
    }
  }
  return std::max<std::uint64_t>(sum.value(), 1);
}

}  // namespace weft::files
