#pragma once
// The rotations of a step's positions, computed once and used by every layer:
//   y[t, 2i] = m * cos(a), y[t, 2i + 1] = m * sin(a), i < R / 2
//   with a the angle of pair i at position pos[t]
//   pos [T] i32     y [T, R] f32
//   factors [R / 2] f32, optional, divide the frequencies (Llama 3, LongRoPE)
// Plain: a = pos * freq_scale * base^(-2i / R) / factors[i], m = attn_factor.
// YaRN (ext_factor != 0): a blends the scaled and the unscaled angle with a ramp between the pairs
// whose wavelengths fit beta_slow and beta_fast turns into original_context, and m grows by
// 1 + 0.1 ln(1 / freq_scale).
// Sections (M-RoPE): pairs turn with the time, the height or the width of a token, which for text
// all are its position; pairs that belong to none of the three do not turn. Sections lie one behind
// the other, or interleaved: pair i is of section i % 3, up to three times the section's size.
// Sources: Su et al. 2021, arXiv:2104.09864; Peng et al. 2023, arXiv:2309.00071; Wang et al.
// 2024, arXiv:2409.12191.

#include <cstdint>
#include <source_location>
#include <tuple>

#include "weft/graph/tensor.h"
#include "weft/graph/view.h"

namespace weft {

struct RopeAttrs {
  std::int32_t n_rot = 0;  // R, even
  float base = 10000;
  float freq_scale = 1;   // 1 / linear scaling factor
  float ext_factor = 0;   // YaRN's extrapolation mix, 0 = plain
  float attn_factor = 1;  // magnitude
  float beta_fast = 32;
  float beta_slow = 1;
  std::int32_t original_context = 0;  // positions the model was trained with, needed by YaRN
  std::int32_t time = 0, height = 0, width = 0;  // pairs of each section; all 0: every pair turns
  bool interleaved = false;                      // how sections lie
  static constexpr auto fields() {
    using A = RopeAttrs;
    return std::tuple{field("n_rot", &A::n_rot),
                      field("base", &A::base),
                      field("freq_scale", &A::freq_scale),
                      field("ext_factor", &A::ext_factor),
                      field("attn_factor", &A::attn_factor),
                      field("beta_fast", &A::beta_fast),
                      field("beta_slow", &A::beta_slow),
                      field("original_context", &A::original_context),
                      field("time", &A::time),
                      field("height", &A::height),
                      field("width", &A::width),
                      field("interleaved", &A::interleaved)};
  }
};

extern const OpDef kRopeAngles;  // inputs: pos, factors?
Tensor rope_angles(Tensor pos, const RopeAttrs& attrs, Tensor factors = {},
                   SourceLine where = std::source_location::current());

// The definition for one region of y, for backends that split the work. `in` is pos and factors.
// Does not allocate.
void rope_angles_region(const RopeAttrs& attrs, Views in, const View& y,
                        const Region& region) noexcept;

}  // namespace weft
