#pragma once
// What the cpu backend can run: one entry per op, each in a file of its own in ops/, and the one
// list of them.

#include <array>
#include <optional>
#include <span>

#include "weft/backends/backend.h"

#include "cpu/isa.h"

namespace weft::cpu {

struct CpuOp {
  const OpDef* op;
  // The kernel for a node of this op; nullopt where its types have none.
  std::optional<Kernel> (*find)(Isa isa, const Graph& graph, const Node& node);
};

std::span<const CpuOp* const> cpu_ops();

// One adaptor per instruction set, indexed by Isa: per_isa([]<Isa kIsa>() -> KernelFn { return
// run<kIsa>; }).
using AdaptorFns = std::array<KernelFn, std::size(kAllIsas)>;
template <class F>
constexpr AdaptorFns per_isa(F f) {
  return {f.template operator()<Isa::sse2>(), f.template operator()<Isa::avx2>(),
          f.template operator()<Isa::avx512>(), f.template operator()<Isa::avx512vnni>()};
}
inline KernelFn at(const AdaptorFns& fns, Isa isa) {
  return fns[static_cast<std::size_t>(isa)];
}

// "rms_norm avx2", to live as long as the program.
std::string_view row_name(std::string_view what, Isa isa);

// Float `c` of row `r`.
inline float* floats(const View& v, std::int64_t r, std::int64_t c) {
  return v.row<float>(r) + c;
}

}  // namespace weft::cpu
