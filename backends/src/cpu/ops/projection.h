#pragma once
// What linear, linear_concat and gated_linear share: finding and calling the kernel for activations
// and weights of given types.

#include <string>

#include "cpu/cpu_ops.h"
#include "cpu/weight_formats.h"

namespace weft::cpu {

inline constexpr std::int64_t kProjectionGranule = 16;

std::string lower(std::string_view text);  // "Q4_K" -> "q4_k"

// There is a kernel for these.
bool can_project(const TensorSpec& x, const TensorSpec& w, Isa isa);
// "linear q8a x q4_k avx512vnni"; several weights are joined by "+", equal ones named once.
std::string_view projection_row(std::string_view op, const TensorSpec& x,
                                std::span<const TensorSpec> weights, Isa isa);

// x and w; the caller adds y, region, bias and residual.
LinearArgs projection_args(const View& x, const View& w, std::span<std::byte> scratch);
void project(Isa isa, const View& x, const View& w, const LinearArgs& args) noexcept;
// Scratch that project() needs for activations like x and any of these weights.
std::int64_t projection_scratch(const TensorSpec& x, std::span<const TensorSpec> weights);

}  // namespace weft::cpu
