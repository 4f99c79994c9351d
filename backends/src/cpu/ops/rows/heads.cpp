// Ops that move, scale or multiply heads: concat_heads, dot_heads, pad_heads, repeat_heads,
// scale_heads, slice_heads.

#include <algorithm>

#include "weft/ops/attention/dot_heads.h"
#include "weft/ops/rows/concat_heads.h"
#include "weft/ops/rows/pad_heads.h"
#include "weft/ops/rows/repeat_heads.h"
#include "weft/ops/rows/scale_heads.h"
#include "weft/ops/rows/slice_heads.h"

#include "cpu/cpu_ops.h"
#include "cpu/ops/rows/elementwise_rows.h"
#include "cpu/ops/rows/row_kernels.h"

namespace weft::cpu {
namespace {

// Calls f(row, head) for the heads of the output in a region.
template <class F>
void for_each_head(const KernelArgs& args, const Region& region, F f) {
  const std::int64_t width = args.out.dim(-1);
  for (std::int64_t r = region.row0; r < region.row1; ++r) {
    for (std::int64_t h = region.col0 / width; h < region.col1 / width; ++h) f(r, h);
  }
}

void run_concat(const KernelArgs& args, const Region& region) noexcept {
  const View &a = args.in[0], &b = args.in[1];
  const std::int64_t na = a.dim(-1), nb = b.dim(-1);
  const bool shared = b.dim(1) == 1;
  for_each_head(args, region, [&](std::int64_t r, std::int64_t h) {
    float* const y = floats(args.out, r, h * (na + nb));
    std::copy_n(floats(a, r, h * na), na, y);
    std::copy_n(floats(b, r, shared ? 0 : h * nb), nb, y + na);
  });
}

void run_slice(const KernelArgs& args, const Region& region) noexcept {
  const std::int64_t begin = args.attrs->as<SliceHeadsAttrs>().begin;
  const std::int64_t e = args.in[0].dim(-1), n = args.out.dim(-1);
  for_each_head(args, region, [&](std::int64_t r, std::int64_t h) {
    std::copy_n(floats(args.in[0], r, h * e + begin), n, floats(args.out, r, h * n));
  });
}

void run_pad(const KernelArgs& args, const Region& region) noexcept {
  const std::int64_t e = args.in[0].dim(-1), width = args.out.dim(-1);
  for_each_head(args, region, [&](std::int64_t r, std::int64_t h) {
    float* const y = floats(args.out, r, h * width);
    std::copy_n(floats(args.in[0], r, h * e), e, y);
    std::fill(y + e, y + width, 0.0f);
  });
}

void run_repeat(const KernelArgs& args, const Region& region) noexcept {
  const std::int64_t e = args.out.dim(-1), n_times = args.out.dim(1) / args.in[0].dim(1);
  for_each_head(args, region, [&](std::int64_t r, std::int64_t h) {
    std::copy_n(floats(args.in[0], r, h / n_times * e), e, floats(args.out, r, h * e));
  });
}

// A number for each head: its columns are heads.
template <class Arch>
void run_dot(const KernelArgs& args, const Region& region) noexcept {
  const std::int64_t e = args.in[0].dim(-1);
  for (std::int64_t r = region.row0; r < region.row1; ++r) {
    for (std::int64_t h = region.col0; h < region.col1; ++h) {
      *floats(args.out, r, h) =
          row_kernels<Arch>().dot(floats(args.in[0], r, h * e), floats(args.in[1], r, h * e), e);
    }
  }
}

template <class Arch>
void run_scale(const KernelArgs& args, const Region& region) noexcept {
  const std::int64_t e = args.out.dim(-1);
  for_each_head(args, region, [&](std::int64_t r, std::int64_t h) {
    elementwise<Arch>().scale(floats(args.in[0], r, h * e), *floats(args.in[1], r, h),
                              floats(args.out, r, h * e), e);
  });
}

constexpr auto kDotRows = rows_of<Rows>([]<class Arch>() -> KernelFn { return run_dot<Arch>; });
constexpr auto kScaleRows =
    rows_of<Elementwise>([]<class Arch>() -> KernelFn { return run_scale<Arch>; });

std::optional<Kernel> find_concat(FeatureSet, const Graph&, const Node& node) {
  return Kernel{.row = "concat_heads copy", .run = run_concat, .granule = node.spec.shape.last()};
}
std::optional<Kernel> find_dot(FeatureSet has, const Graph&, const Node&) {
  return with_row("dot_heads", kDotRows, has, {});
}
std::optional<Kernel> find_pad(FeatureSet, const Graph&, const Node& node) {
  return Kernel{.row = "pad_heads copy", .run = run_pad, .granule = node.spec.shape.last()};
}
std::optional<Kernel> find_repeat(FeatureSet, const Graph&, const Node& node) {
  return Kernel{.row = "repeat_heads copy", .run = run_repeat, .granule = node.spec.shape.last()};
}
std::optional<Kernel> find_slice(FeatureSet, const Graph&, const Node& node) {
  return Kernel{.row = "slice_heads copy", .run = run_slice, .granule = node.spec.shape.last()};
}
std::optional<Kernel> find_scale(FeatureSet has, const Graph&, const Node& node) {
  return with_row("scale_heads", kScaleRows, has, {.granule = node.spec.shape.last()});
}

}  // namespace

extern const CpuOp kCpuConcatHeads{&kConcatHeads, find_concat};
extern const CpuOp kCpuDotHeads{&kDotHeads, find_dot};
extern const CpuOp kCpuPadHeads{&kPadHeads, find_pad};
extern const CpuOp kCpuRepeatHeads{&kRepeatHeads, find_repeat};
extern const CpuOp kCpuScaleHeads{&kScaleHeads, find_scale};
extern const CpuOp kCpuSliceHeads{&kSliceHeads, find_slice};

}  // namespace weft::cpu
