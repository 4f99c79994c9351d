// Ops on ids and positions: divide_ids, get_ids, ids_to_floats, negate_ids, remainder_ids,
// replace_id, round_to_ids, shift_positions.

#include <algorithm>

#include "weft/ops/ids/divide_ids.h"
#include "weft/ops/ids/get_ids.h"
#include "weft/ops/ids/ids_to_floats.h"
#include "weft/ops/ids/negate_ids.h"
#include "weft/ops/ids/remainder_ids.h"
#include "weft/ops/ids/replace_id.h"
#include "weft/ops/ids/round_to_ids.h"
#include "weft/ops/positions/shift_positions.h"

#include "cpu/cpu_ops.h"

namespace weft::cpu {
namespace {

const std::int32_t* ids(const View& v, std::int64_t r) {
  return v.row<const std::int32_t>(r);
}

// Sets the elements of the region: out[r, c] = f(r, c). Vectors are one row.
template <class T, class F>
void fill(const KernelArgs& args, const Region& region, F f) {
  for (std::int64_t r = region.row0; r < region.row1; ++r) {
    for (std::int64_t c = region.col0; c < region.col1; ++c) args.out.row<T>(r)[c] = f(r, c);
  }
}

void run_divide(const KernelArgs& args, const Region& region) noexcept {
  const std::int32_t divisor = args.attrs->as<DivideIdsAttrs>().divisor;
  fill<std::int32_t>(args, region, [&](std::int64_t r, std::int64_t c) {
    return ids(args.in[0], r)[c] / divisor;
  });
}

void run_floats(const KernelArgs& args, const Region& region) noexcept {
  fill<float>(args, region, [&](std::int64_t r, std::int64_t) {
    return static_cast<float>(ids(args.in[0], 0)[r]);
  });
}

void run_get(const KernelArgs& args, const Region& region) noexcept {
  get_ids_region(args.attrs->as<GetIdsAttrs>(), args.in, args.out, region);
}

void run_negate(const KernelArgs& args, const Region& region) noexcept {
  fill<std::int32_t>(args, region,
                     [&](std::int64_t r, std::int64_t c) { return -ids(args.in[0], r)[c]; });
}

void run_remainder(const KernelArgs& args, const Region& region) noexcept {
  const std::int32_t divisor = args.attrs->as<RemainderIdsAttrs>().divisor;
  fill<std::int32_t>(args, region, [&](std::int64_t r, std::int64_t c) {
    return ids(args.in[0], r)[c] % divisor;
  });
}

void run_replace(const KernelArgs& args, const Region& region) noexcept {
  const auto& a = args.attrs->as<ReplaceIdAttrs>();
  fill<std::int32_t>(args, region, [&](std::int64_t r, std::int64_t c) {
    return ids(args.in[0], r)[c] == a.from ? a.to : ids(args.in[1], r)[c];
  });
}

// Halves go up once negative numbers and NaN are 0. The sum is exact in double.
void run_round(const KernelArgs& args, const Region& region) noexcept {
  const double max = args.attrs->as<RoundToIdsAttrs>().max;
  fill<std::int32_t>(args, region, [&](std::int64_t r, std::int64_t c) {
    const float x = *floats(args.in[0], r, c);
    return static_cast<std::int32_t>(x > 0 ? std::min<double>(x, max) + 0.5 : 0);
  });
}

void run_shift(const KernelArgs& args, const Region& region) noexcept {
  const auto& a = args.attrs->as<ShiftAttrs>();
  const std::int32_t* limit = args.in[1] ? ids(args.in[1], 0) : nullptr;
  fill<std::int32_t>(args, region, [&](std::int64_t r, std::int64_t c) {
    const std::int64_t shifted =
        std::max<std::int64_t>(0, std::int64_t{ids(args.in[0], r)[c]} + a.offset);
    const std::int64_t max = limit ? limit[c] : INT32_MAX;
    return static_cast<std::int32_t>(std::min(shifted / a.step * a.step, max));
  });
}

template <KernelFn run>
std::optional<Kernel> find(FeatureSet, const Graph&, const Node& node) {
  return Kernel{.row = node.op->name, .run = run};
}

}  // namespace

extern const CpuOp kCpuDivideIds{&kDivideIds, find<run_divide>};
extern const CpuOp kCpuGetIds{&kGetIds, find<run_get>};
extern const CpuOp kCpuIdsToFloats{&kIdsToFloats, find<run_floats>};
extern const CpuOp kCpuNegateIds{&kNegateIds, find<run_negate>};
extern const CpuOp kCpuRemainderIds{&kRemainderIds, find<run_remainder>};
extern const CpuOp kCpuReplaceId{&kReplaceId, find<run_replace>};
extern const CpuOp kCpuRoundToIds{&kRoundToIds, find<run_round>};
extern const CpuOp kCpuShiftPositions{&kShiftPositions, find<run_shift>};

}  // namespace weft::cpu
