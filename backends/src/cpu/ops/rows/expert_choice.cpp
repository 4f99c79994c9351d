// Ops for routers of experts: top_k and gather.

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/backends/memory.h"
#include "weft/ops/ids/top_k.h"
#include "weft/ops/rows/gather.h"

#include "cpu/cpu_ops.h"

namespace weft::cpu {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// Inserts candidates in the order of their ids: of equal values, the first stays in front.
class Best {
 public:
  Best(std::int32_t* ids, std::int64_t k) : ids_(ids), k_(k) {}

  // `values` are those of all ids. NaN counts as -infinity.
  void offer(const float* values, std::int32_t id) {
    const float v = value(values, id);
    if (n_ == k_ && !(v > value(values, ids_[k_ - 1]))) return;
    std::int64_t at = n_ < k_ ? n_++ : k_ - 1;
    for (; at > 0 && v > value(values, ids_[at - 1]); --at) ids_[at] = ids_[at - 1];
    ids_[at] = id;
  }

 private:
  static float value(const float* values, std::int32_t id) {
    return std::isnan(values[id]) ? kMinusInfinity : values[id];
  }

  std::int32_t* ids_;
  std::int64_t k_, n_ = 0;
};

// Scratch memory, in this order.
struct TopKScratch {
  float *values, *merits;
  std::int32_t* groups;

  TopKScratch(std::byte* at, std::int64_t n, std::int64_t n_groups)
      : values(reinterpret_cast<float*>(at)),
        merits(values + n),
        groups(reinterpret_cast<std::int32_t*>(merits + n_groups)) {}
  static std::int64_t bytes(std::int64_t n, const TopKAttrs& a) {
    return align_up(4 * (n + a.n_groups + a.used_groups));
  }
};

// The best groups of columns, in the order of their columns.
void choose_groups(const TopKAttrs& a, const TopKScratch& s, std::int64_t n) {
  const std::int64_t width = n / a.n_groups;
  for (std::int32_t g = 0; g < a.n_groups; ++g) {
    std::int32_t two[2];
    const std::int64_t count = std::min<std::int64_t>(width, 2);
    Best best(two, count);
    for (std::int64_t i = 0; i < width; ++i)
      best.offer(s.values, static_cast<std::int32_t>(g * width + i));
    float sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += s.values[two[i]];
    s.merits[g] = sum;
  }
  Best best(s.groups, a.used_groups);
  for (std::int32_t g = 0; g < a.n_groups; ++g) best.offer(s.merits, g);
  std::sort(s.groups, s.groups + a.used_groups);
}

void run_top_k(const KernelArgs& args, const Region& region) noexcept {
  const auto& a = args.attrs->as<TopKAttrs>();
  const View& scores = args.in[0];
  const float* bias = args.in[1] ? args.in[1].row<const float>(0) : nullptr;
  const std::int64_t n = scores.cols(), width = n / a.n_groups;
  const TopKScratch s(args.scratch.data(), n, a.n_groups);
  for (std::int64_t r = region.row0; r < region.row1; ++r) {
    const float* row = scores.row<const float>(r);
    for (std::int64_t i = 0; i < n; ++i) s.values[i] = bias ? row[i] + bias[i] : row[i];
    Best best(args.out.row<std::int32_t>(r), a.k);
    if (a.used_groups == a.n_groups) {
      for (std::int64_t i = 0; i < n; ++i) best.offer(s.values, static_cast<std::int32_t>(i));
      continue;
    }
    choose_groups(a, s, n);
    for (std::int32_t g = 0; g < a.used_groups; ++g) {
      for (std::int64_t i = s.groups[g] * width; i < (s.groups[g] + 1) * width; ++i)
        best.offer(s.values, static_cast<std::int32_t>(i));
    }
  }
}

void run_gather(const KernelArgs& args, const Region& region) noexcept {
  const View& x = args.in[0];
  for (std::int64_t r = region.row0; r < region.row1; ++r) {
    const float* row = x.row<const float>(x.n_dims == 1 ? 0 : r);
    const std::int32_t* ids = args.in[1].row<const std::int32_t>(r);
    for (std::int64_t c = region.col0; c < region.col1; ++c) {
      const bool inside = ids[c] >= 0 && ids[c] < x.cols();
      *floats(args.out, r, c) = inside ? row[ids[c]] : std::numeric_limits<float>::quiet_NaN();
    }
  }
}

std::optional<Kernel> find_top_k(FeatureSet, const Graph& graph, const Node& node) {
  const std::int64_t n = graph[node.inputs[0]].spec.shape.last();
  return Kernel{.row = "top_k f32",
                .run = run_top_k,
                .scratch_bytes = TopKScratch::bytes(n, node.attrs.as<TopKAttrs>()),
                .granule = node.spec.shape.last()};
}
std::optional<Kernel> find_gather(FeatureSet, const Graph&, const Node&) {
  return Kernel{.row = "gather f32", .run = run_gather};
}

}  // namespace

extern const CpuOp kCpuGather{&kGather, find_gather};
extern const CpuOp kCpuTopK{&kTopK, find_top_k};

}  // namespace weft::cpu
