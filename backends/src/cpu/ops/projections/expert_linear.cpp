// expert_linear on the kernels of linear. The tokens of a call are grouped by expert, so that the
// weights of an expert are read once for all of them. Scattered rows of x are copied next to each
// other, and results back, because the kernels take rows at equal distances. An output's bits do
// not depend on the rows it is computed with, so they are those of `linear` for one token.

#include "weft/ops/projections/expert_linear.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "weft/backends/memory.h"

#include "cpu/ops/projections/projection.h"
#include "cpu/panels.h"

namespace weft::cpu {
namespace {

constexpr std::int64_t kFloat = sizeof(float);
constexpr std::int64_t kNoExpert = -1, kElsewhere = -2;  // ids that w has no matrix for
constexpr std::int64_t kResultCols = 256;  // columns of a block of results that is copied

struct Pair {
  std::int32_t token, choice;
};

// The parts of scratch memory after that of the kernels of linear, in bytes.
struct Layout {
  std::int64_t group;  // max pairs of one call of a linear kernel
  std::int64_t choices, ends, pairs, waiting, x, results, total;

  Layout(const TensorSpec& x_spec, const TensorSpec& w, const TensorSpec& ids, std::int64_t begin) {
    const std::int64_t n_tokens = ids.shape[0].bound, n_choices = ids.shape[1].bound;
    group = std::min(n_tokens, kPanelTokens);
    choices = align_up(begin);
    ends = choices + align_up(n_choices * 4);
    pairs = ends + align_up((w.shape[0].bound + 2) * 4);
    waiting = pairs + align_up(n_tokens * n_choices * static_cast<std::int64_t>(sizeof(Pair)));
    x = waiting + align_up(std::max(w.shape[0].bound + 2, n_choices));
    results = x + align_up(group * x_spec.dtype.bytes(x_spec.shape.last()));
    total = results + align_up(group * std::min(kResultCols, w.shape[1].bound) * kFloat);
  }
};

struct ExpertRows : ProjectionRows {
  ExpertRows(WeightRow row, const Layout& l) : layout(l) { weights.push_back(row); }
  Layout layout;
};

// Rows at equal distances.
struct Rows {
  std::byte* first = nullptr;
  std::int64_t stride = 0;
};

class Experts {
 public:
  explicit Experts(const KernelArgs& args)
      : args_(args),
        row_(ProjectionRows::of(args)[0]),
        l_(static_cast<const ExpertRows*>(args.prepared)->layout),
        part_(args.attrs->as<ExpertLinearAttrs>()),
        d_(args.in[0].dim(-1)),
        n_(args.in[1].dim(1)) {}

  // Columns [cols.begin, cols.end) of the matrices of these choices, for tokens row0 .. row1 - 1.
  void run(std::int64_t row0, std::int64_t row1, ColRange cols,
           std::span<const std::int32_t> choices) const {
    if (row1 - row0 == 1) {
      const auto pair_of = [&](std::int64_t i) {
        return Pair{static_cast<std::int32_t>(row0), choices[static_cast<std::size_t>(i)]};
      };
      for_each_matrix(
          std::ssize(choices), [&](std::int64_t i) { return expert_of(pair_of(i)); },
          [&](std::int64_t i, std::int64_t e, const std::byte* matrix) {
            const Pair pair = pair_of(i);
            compute(e, matrix, {&pair, 1}, cols);
          });
      return;
    }
    const std::int64_t n_experts = args_.in[1].rows();
    auto* const ends = at<std::int32_t>(l_.ends);
    auto* const pairs = at<Pair>(l_.pairs);
    sort(row0, row1, choices, ends, pairs);
    for_each_matrix(
        n_experts + 2, [&](std::int64_t i) { return i < n_experts ? i : n_experts - 1 - i; },
        [&](std::int64_t i, std::int64_t e, const std::byte* matrix) {
          for (std::int64_t p = i == 0 ? 0 : ends[i - 1]; p < ends[i]; p += l_.group) {
            const std::int64_t n = std::min(ends[i] - p, l_.group);
            compute(e, matrix, {pairs + p, static_cast<std::size_t>(n)}, cols);
          }
        },
        [&](std::int64_t i) { return ends[i] > (i == 0 ? 0 : ends[i - 1]); });
  }

  std::int64_t n_rows_of_experts() const { return n_; }
  std::int32_t* choices() const { return at<std::int32_t>(l_.choices); }

 private:
  template <class T>
  T* at(std::int64_t offset) const {
    return reinterpret_cast<T*>(args_.scratch.data() + offset);
  }

  // The index of the expert in w, or kNoExpert or kElsewhere.
  std::int64_t expert_of(Pair p) const {
    const std::int64_t id = args_.in[2].row<const std::int32_t>(p.token)[p.choice];
    const std::int64_t n = args_.in[1].rows(), e = id - part_.first;
    if (e >= 0 && e < n) return e;
    return id < 0 || id >= std::max(part_.all, n) ? kNoExpert : kElsewhere;
  }

  // Calls f(i, e, matrix) for the items 0 .. n - 1 that `wanted` accepts, with the item's expert
  // and its matrix (null for kNoExpert and kElsewhere): in order, or those first whose matrices are
  // in memory while others are read. Results do not depend on the order.
  template <class ExpertOf, class F, class Wanted>
  void for_each_matrix(std::int64_t n, ExpertOf expert, F f, Wanted wanted) const {
    const View& all = args_.in[1];
    if (!all.paged) {
      for (std::int64_t i = 0; i < n; ++i) {
        if (!wanted(i)) continue;
        const std::int64_t e = expert(i);
        f(i, e, e < 0 ? nullptr : all.row<const std::byte>(e));
      }
      return;
    }
    auto* const waiting = at<bool>(l_.waiting);
    for (std::int64_t i = 0; i < n; ++i) waiting[i] = wanted(i);
    for (;;) {
      std::int64_t first = -1;  // one that is still missing
      bool progress = false;
      for (std::int64_t i = 0; i < n; ++i) {
        if (!waiting[i]) continue;
        const std::int64_t e = expert(i);
        const std::byte* matrix = e < 0 ? nullptr : all.paged->find(e);
        if (e >= 0 && !matrix) {
          if (first < 0) first = i;
          continue;
        }
        f(i, e, matrix);
        waiting[i] = false;
        progress = true;
      }
      if (first < 0) return;
      // Others may have arrived during the last round.
      if (!progress && !all.paged->wait(expert(first))) return;
    }
  }
  template <class ExpertOf, class F>
  void for_each_matrix(std::int64_t n, ExpertOf expert, F f) const {
    for_each_matrix(n, expert, f, [](std::int64_t) { return true; });
  }

  std::byte* x_of(Pair p) const {
    const View& x = args_.in[0];
    return x.row<std::byte>(p.token) + (x.n_dims == 3 ? x.dtype.bytes(p.choice * d_) : 0);
  }
  std::byte* y_of(Pair p) const {
    return args_.out.row<std::byte>(p.token) + p.choice * n_ * kFloat;
  }

  // Sorts pairs by expert, then those of kNoExpert, then those of kElsewhere. Those of expert e end
  // at ends[e].
  void sort(std::int64_t row0, std::int64_t row1, std::span<const std::int32_t> choices,
            std::int32_t* ends, Pair* pairs) const {
    const std::int64_t n_experts = args_.in[1].rows();
    const auto each = [&](auto f) {
      for (std::int64_t t = row0; t < row1; ++t) {
        for (const std::int32_t choice : choices) {
          const Pair pair{static_cast<std::int32_t>(t), choice};
          const std::int64_t e = expert_of(pair);
          f(e < 0 ? n_experts - 1 - e : e, pair);
        }
      }
    };
    std::fill_n(ends, n_experts + 2, 0);
    each([&](std::int64_t e, Pair) { ++ends[e]; });
    std::int32_t begin = 0;
    for (std::int64_t e = 0; e < n_experts + 2; ++e) begin += std::exchange(ends[e], begin);
    each([&](std::int64_t e, Pair pair) { pairs[ends[e]++] = pair; });
  }

  // Whether the rows that `place` gives lie at equal distances; sets `rows`.
  template <class Place>
  static bool at_equal_distances(std::span<const Pair> pairs, Place place, Rows& rows) {
    rows.first = place(pairs[0]);
    rows.stride = pairs.size() > 1 ? place(pairs[1]) - rows.first : 0;
    for (std::size_t i = 2; i < pairs.size(); ++i) {
      if (place(pairs[i]) - place(pairs[i - 1]) != rows.stride) return false;
    }
    return true;
  }

  // Columns of the results of these pairs, all of one expert: NaN without one, 0 if it is
  // elsewhere.
  void compute(std::int64_t e, const std::byte* weights, std::span<const Pair> pairs,
               ColRange cols) const {
    if (e < 0) {
      const float value = e == kElsewhere ? 0.0f : std::numeric_limits<float>::quiet_NaN();
      for (const Pair pair : pairs) {
        auto* const y = reinterpret_cast<float*>(y_of(pair));
        std::fill(y + cols.begin, y + cols.end, value);
      }
      return;
    }
    Rows x, y;
    if (!at_equal_distances(
            pairs, [&](Pair p) { return x_of(p); }, x))
      x = gathered(pairs);
    const bool direct = at_equal_distances(
        pairs, [&](Pair p) { return y_of(p); }, y);
    if (direct) return multiply(weights, std::ssize(pairs), x, y, 0, cols);
    for (std::int64_t c = cols.begin; c < cols.end; c += kResultCols) {
      const ColRange block{c, std::min(c + kResultCols, cols.end)};
      const std::int64_t width = (block.end - block.begin) * kFloat;
      const Rows results{at<std::byte>(l_.results), width};
      multiply(weights, std::ssize(pairs), x, results, c, block);
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        std::memcpy(y_of(pairs[i]) + c * kFloat,
                    results.first + static_cast<std::int64_t>(i) * width,
                    static_cast<std::size_t>(width));
      }
    }
  }

  Rows gathered(std::span<const Pair> pairs) const {
    const Rows rows{at<std::byte>(l_.x), args_.in[0].dtype.bytes(d_)};
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      std::memcpy(rows.first + static_cast<std::int64_t>(i) * rows.stride, x_of(pairs[i]),
                  static_cast<std::size_t>(rows.stride));
    }
    return rows;
  }

  // The rows of y begin with column y_col.
  void multiply(const std::byte* weights, std::int64_t n_rows, Rows x, Rows y, std::int64_t y_col,
                ColRange cols) const {
    const View &all = args_.in[1], &in = args_.in[0];
    const View matrix{.data = const_cast<std::byte*>(weights),
                      .dtype = all.dtype,
                      .n_dims = 2,
                      .dims = {n_, d_},
                      .row_stride = all.dtype.bytes(d_)};
    const View rows{.data = x.first,
                    .dtype = in.dtype,
                    .n_dims = 2,
                    .dims = {n_rows, d_},
                    .row_stride = x.stride};
    LinearArgs a = projection_args(rows, matrix, args_.scratch);
    a.y = y.first;
    a.y_stride = y.stride;
    a.y_col = y_col;
    a.row1 = n_rows;
    a.col0 = cols.begin;
    a.col1 = cols.end;
    project(row_, rows, matrix, a);
  }

  const KernelArgs& args_;
  const WeightRow& row_;
  const Layout& l_;
  const ExpertLinearAttrs& part_;
  std::int64_t d_, n_;
};

// Calls f(choice, columns of its matrix) for the parts of the choices' results in these columns.
template <class F>
void for_each_part(std::span<const ColRange> cols, std::int64_t n, F f) {
  for (const ColRange& r : cols) {
    for (std::int64_t begin = r.begin; begin < r.end;) {
      const std::int64_t choice = begin / n, end = std::min(r.end, (choice + 1) * n);
      f(static_cast<std::int32_t>(choice), ColRange{begin - choice * n, end - choice * n});
      begin = end;
    }
  }
}

// Choices that need the same columns of their matrices are computed together.
void run_ranges(const KernelArgs& args, std::int64_t row0, std::int64_t row1,
                std::span<const ColRange> cols) noexcept {
  const Experts experts(args);
  const std::int64_t n = experts.n_rows_of_experts();
  for_each_part(cols, n, [&](std::int32_t choice, ColRange part) {
    std::size_t n_choices = 0;
    bool first = true;
    for_each_part(cols, n, [&](std::int32_t other, ColRange its) {
      if (!(its == part)) return;
      first = first && other >= choice;
      experts.choices()[n_choices++] = other;
    });
    if (first) experts.run(row0, row1, part, {experts.choices(), n_choices});
  });
}

void run_cols(const KernelArgs& args, std::span<const ColRange> cols) noexcept {
  run_ranges(args, 0, args.out.rows(), cols);
}

void run(const KernelArgs& args, const Region& region) noexcept {
  const ColRange cols{region.col0, region.col1};
  run_ranges(args, region.row0, region.row1, {&cols, 1});
}

std::optional<Kernel> find(FeatureSet has, const Graph& graph, const Node& node) {
  const std::vector<TensorSpec> in = graph.input_specs(node);
  if (in_panels(in[1].dtype) && in[1].shape[1].bound % kPanelRows != 0) return std::nullopt;
  auto kernel = projection_kernel("expert_linear", in[0], {&in[1], 1}, has);
  if (!kernel) return std::nullopt;
  kernel->run = run;
  kernel->run_cols = run_cols;
  kernel->pages_rows = true;
  const Layout layout(in[0], in[1], in[2], kernel->scratch_bytes);
  kernel->scratch_bytes = layout.total;
  kernel->token_tiles.push_back(layout.group);
  return kernel;
}

std::unique_ptr<PreparedKernel> prepare(const Machine& machine, const Graph& graph,
                                        const Node& node) {
  const std::vector<TensorSpec> in = graph.input_specs(node);
  const auto kernel = projection_kernel("expert_linear", in[0], {&in[1], 1}, machine.features);
  const Layout layout(in[0], in[1], in[2], kernel->scratch_bytes);
  return std::make_unique<ExpertRows>(projection_row(in[0], in[1], machine), layout);
}

}  // namespace

extern const CpuOp kCpuExpertLinear{&kExpertLinear, find, prepare};

}  // namespace weft::cpu
