#pragma once
// A backend for tests of the planner and the executor. Its one kernel computes a region of any op
// by the op's scalar definition, from copies of the inputs in which everything that the op does not
// declare to reach (OpDef::inputs[].reach, map_cols) is overwritten with NaN. NaN in
// a result means a wrong declaration, or a plan in which a lane reads too early.

#include <array>
#include <cstring>
#include <limits>

#include "weft/backends/backend.h"
#include "weft/backends/memory.h"
#include "weft/graph/graph.h"
#include "weft/ops/formats/q8a.h"

namespace weft::test {

inline void fill_nan(std::byte* out, DType dtype, std::int64_t n_elems) {
  const std::uint16_t half = 0x7e00, brain = 0x7fc0;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (std::int64_t i = 0; i < n_elems; i += dtype.block_elems()) {
    std::byte* at = out + dtype.bytes(i);
    if (dtype == f32 || dtype == q8a) std::memcpy(at, &nan, sizeof(nan));
    if (dtype == f16) std::memcpy(at, &half, sizeof(half));
    if (dtype == bf16) std::memcpy(at, &brain, sizeof(brain));
  }
}

inline bool can_be_nan(DType dtype) {
  return dtype == f32 || dtype == f16 || dtype == bf16 || dtype == q8a;
}

// Bytes of a copy of a tensor at its bounds, and of one of its views now.
inline std::int64_t copy_bytes(const TensorSpec& spec) {
  return spec.present() ? align_up(spec.bytes()) : 0;
}

// The region of input `index` that `region` of the output reaches.
inline Region reached(const KernelArgs& args, std::size_t index, const Region& region,
                      Specs specs) {
  const View& in = args.in[index];
  const Reach reach = args.op->input(index).reach;
  Region part = Region::whole(in);
  const bool same_rows = in.n_dims >= 2 && in.rows() == args.out.rows();
  if (same_rows && (reach == Reach::same || reach == Reach::row))
    part.row0 = region.row0, part.row1 = region.row1;
  if (reach != Reach::same && reach != Reach::col) return part;
  if (!args.op->map_cols && in.cols() != args.out.cols()) return part;
  ColRange cols{region.col0, region.col1};
  if (args.op->map_cols)
    cols = args.op->map_cols(*args.attrs, specs, static_cast<int>(index), cols);
  part.col0 = std::max<std::int64_t>(0, cols.begin);
  part.col1 = std::min(in.cols(), cols.end);
  return part;
}

inline TensorSpec spec_of(const View& v) {
  if (!v) return {};
  const std::array<Dim, kMaxDims> dims{v.dims[0], v.dims[1], v.dims[2], v.dims[3]};
  return {v.dtype, Shape(std::span(dims).first(static_cast<std::size_t>(v.n_dims)))};
}

// A copy of `v` at `to` in which only `part` holds the data; integers and quantized weights are
// copied whole.
inline View copy_part(const View& v, const Region& part, std::byte* to) {
  View copy = v;
  copy.data = to;
  copy.row_stride = v.dtype.bytes(v.cols());
  for (std::int64_t r = 0; r < v.rows(); ++r) {
    std::byte* row = to + r * copy.row_stride;
    if (!can_be_nan(v.dtype)) {
      std::memcpy(row, v.row<std::byte>(r), static_cast<std::size_t>(copy.row_stride));
      continue;
    }
    fill_nan(row, v.dtype, v.cols());
    if (r < part.row0 || r >= part.row1) continue;
    const std::int64_t begin = v.dtype.bytes(part.col0), end = v.dtype.bytes(part.col1);
    std::memcpy(row + begin, v.row<std::byte>(r) + begin, static_cast<std::size_t>(end - begin));
  }
  return copy;
}

inline void copy_back(const View& from, const Region& part, const View& to) {
  const std::int64_t begin = from.dtype.bytes(part.col0), end = from.dtype.bytes(part.col1);
  for (std::int64_t r = part.row0; r < part.row1; ++r) {
    std::memcpy(to.row<std::byte>(r) + begin, from.row<std::byte>(r) + begin,
                static_cast<std::size_t>(end - begin));
  }
}

inline constexpr std::size_t kMaxInputs = 16;

inline void run_region(const KernelArgs& args, const Region& region) noexcept {
  View in[kMaxInputs];
  TensorSpec specs[kMaxInputs];
  const std::size_t n = args.in.size();
  for (std::size_t i = 0; i < n; ++i) specs[i] = spec_of(args.in[i]);
  std::byte* free = args.scratch.data();
  const auto take = [&](const View& v) {
    std::byte* at = free;
    free += align_up(v.dtype.bytes(v.rows() * v.cols()));
    return at;
  };
  for (std::size_t i = 0; i < n; ++i) {
    if (args.in[i])
      in[i] = copy_part(args.in[i], reached(args, i, region, {specs, n}), take(args.in[i]));
  }
  View out = args.out;
  if (args.op->storage == Storage::state) {
    out = in[0];
  } else {
    out.data = take(args.out);
    out.row_stride = out.dtype.bytes(out.cols());
  }
  args.op->reference(*args.attrs, {in, n}, out);
  copy_back(out, region, args.out);
  if (args.op->updates < 0) return;
  const auto updated = static_cast<std::size_t>(args.op->updates);
  copy_back(in[updated], reached(args, updated, region, {specs, n}), args.in[updated]);
}

class RegionBackend : public Backend {
 public:
  std::string_view name() const override { return "region"; }
  std::string description() const override {
    return "scalar definitions that see only what they declare";
  }
  std::optional<Kernel> find(const Graph& graph, const Node& node) const override {
    if (!node.op || !node.op->reference || node.inputs.size() > kMaxInputs) return std::nullopt;
    std::int64_t scratch = copy_bytes(node.spec);
    for (const TensorSpec& spec : graph.input_specs(node)) scratch += copy_bytes(spec);
    return Kernel{.row = node.op->name, .run = run_region, .scratch_bytes = scratch};
  }
};

}  // namespace weft::test
