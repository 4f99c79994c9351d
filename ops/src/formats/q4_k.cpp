#include "weft/ops/formats/q4_k.h"

#include <algorithm>

#include "formats/codec.h"

namespace weft {

Q4_K::Scales Q4_K::unpack_scales(const std::uint8_t (&packed)[12]) {
  Scales s;
  for (int i = 0; i < 4; ++i) {
    s.scale[i] = packed[i] & 63;
    s.min[i] = packed[i + 4] & 63;
    s.scale[i + 4] = static_cast<std::uint8_t>((packed[i + 8] & 15) | (packed[i] >> 6) << 4);
    s.min[i + 4] = static_cast<std::uint8_t>(packed[i + 8] >> 4 | (packed[i + 4] >> 6) << 4);
  }
  return s;
}

void Q4_K::pack_scales(const Scales& s, std::uint8_t (&packed)[12]) {
  for (int i = 0; i < 4; ++i) {
    packed[i] = static_cast<std::uint8_t>(s.scale[i] | (s.scale[i + 4] >> 4) << 6);
    packed[i + 4] = static_cast<std::uint8_t>(s.min[i] | (s.min[i + 4] >> 4) << 6);
    packed[i + 8] = static_cast<std::uint8_t>((s.scale[i + 4] & 15) | (s.min[i + 4] & 15) << 4);
  }
}

void Q4_K::decode(const Block& block, float* out) {
  const float d = f16_to_f32(block.d);
  const float dmin = f16_to_f32(block.dmin);
  const Scales s = unpack_scales(block.scales);
  for (int sub = 0; sub < kSubs; ++sub) {
    const float scale = d * static_cast<float>(s.scale[sub]);
    const float min = dmin * static_cast<float>(s.min[sub]);
    const std::uint8_t* q = block.q + sub / 2 * kSub;
    for (int i = 0; i < kSub; ++i) {
      const int code = sub % 2 ? q[i] >> 4 : q[i] & 15;
      out[sub * kSub + i] = scale * static_cast<float>(code) - min;
    }
  }
}

namespace {

constexpr int kSub = Q4_K::kSub;
constexpr int kSubs = Q4_K::kSubs;
constexpr int kTopCode = 15;
constexpr int kTopScale = 63;

// x ~ scale * q - min with real scale >= 0 and min >= 0.
struct Affine {
  double scale = 0, min = 0;
};

// The scale and minimum of least squared error for given codes. The minimum cannot be negative:
// then it is 0.
Affine least_squares(const float* x, const int* q) {
  double sq = 0, sqq = 0, sx = 0, sxq = 0;
  for (int i = 0; i < kSub; ++i) {
    sq += q[i];
    sqq += q[i] * q[i];
    sx += x[i];
    sxq += double{x[i]} * q[i];
  }
  const double det = kSub * sqq - sq * sq;
  if (det <= 0) return {};
  const double scale = (kSub * sxq - sx * sq) / det;
  const double min = (scale * sq - sx) / kSub;
  return min >= 0 ? Affine{scale, min} : Affine{sxq / sqq, 0};
}

double quantize(const float* x, Affine a, int* q) {
  double error = 0;
  for (int i = 0; i < kSub; ++i) {
    q[i] = a.scale > 0 ? formats::round_to((x[i] + a.min) / a.scale, 0, kTopCode) : 0;
    const double e = x[i] - (a.scale * q[i] - a.min);
    error += e * e;
  }
  return error;
}

// Tries grids slightly finer and coarser than the one that spans the values, each with the best
// scale and minimum for its codes.
Affine fit(const float* x) {
  const auto [low, high] = std::minmax_element(x, x + kSub);
  const double bottom = std::min(0.0f, *low);
  const double span = *high - bottom;
  if (span <= 0) return {0, -bottom};
  int q[kSub];
  Affine best{span / kTopCode, -bottom};
  double best_error = quantize(x, best, q);
  for (int k = -12; k <= 12; ++k) {
    quantize(x, {span / (kTopCode + 0.1 * k), -bottom}, q);
    const Affine a = least_squares(x, q);
    if (a.scale <= 0) continue;
    const double error = quantize(x, a, q);
    if (error < best_error) {
      best_error = error;
      best = a;
    }
  }
  return best;
}

// A whole block on its way to bytes.
struct Draft {
  double d = 0, dmin = 0;  // as they read back from f16
  int scale[kSubs] = {}, min[kSubs] = {};
  int q[Q4_K::kBlock] = {};
  double error = 0;
};

double as_f16(double x) {
  return f16_to_f32(formats::scale_to_f16(static_cast<float>(x)));
}

// Per sub-block, the integer scale and minimum next to the wanted ones with the least error.
void choose_codes(const float* x, const Affine* wanted, Draft& draft) {
  draft.error = 0;
  for (int s = 0; s < kSubs; ++s) {
    const int scale0 = draft.d > 0 ? formats::round_to(wanted[s].scale / draft.d, 0, kTopScale) : 0;
    const int min0 =
        draft.dmin > 0 ? formats::round_to(wanted[s].min / draft.dmin, 0, kTopScale) : 0;
    double best = HUGE_VAL;
    for (int scale = std::max(0, scale0 - 1); scale <= std::min(kTopScale, scale0 + 1); ++scale) {
      for (int min = std::max(0, min0 - 1); min <= std::min(kTopScale, min0 + 1); ++min) {
        int q[kSub];
        const double error = quantize(x + s * kSub, {draft.d * scale, draft.dmin * min}, q);
        if (error >= best) continue;
        best = error;
        draft.scale[s] = scale;
        draft.min[s] = min;
        std::copy(q, q + kSub, draft.q + s * kSub);
      }
    }
    draft.error += best;
  }
}

// The pair (d, dmin) of least squared error for the codes, scales and minima of a draft; {} where
// it is not determined.
Affine refit(const float* x, const Draft& draft) {
  double aa = 0, ab = 0, bb = 0, xa = 0, xb = 0;
  for (int i = 0; i < Q4_K::kBlock; ++i) {
    const double a = draft.scale[i / kSub] * draft.q[i];
    const double b = draft.min[i / kSub];
    aa += a * a;
    ab += a * b;
    bb += b * b;
    xa += x[i] * a;
    xb += x[i] * b;
  }
  if (aa <= 0) return {};
  if (bb <= 0) return {xa / aa, 0};
  const double det = aa * bb - ab * ab;
  if (det <= 1e-9 * aa * bb) return {};
  return {(xa * bb - xb * ab) / det, (xa * ab - xb * aa) / det};
}

// Where d or dmin is subnormal in f16 its neighbours are far away, and the best pair is found by
// climbing among them.
void climb(const float* x, const Affine* wanted, Draft& best) {
  constexpr double kUnit = 0x1p-24;
  constexpr double kCoarse = 256 * kUnit;
  if (best.d >= kCoarse && best.dmin >= kCoarse) return;
  for (int round = 0; round < 32; ++round) {
    const Draft start = best;
    for (int i = -1; i <= 1; ++i) {
      for (int j = -1; j <= 1; ++j) {
        Draft next{.d = as_f16(std::max(0.0, start.d + i * kUnit)),
                   .dmin = as_f16(std::max(0.0, start.dmin + j * kUnit))};
        choose_codes(x, wanted, next);
        if (next.error < best.error) best = next;
      }
    }
    if (best.error >= start.error) return;
  }
}

Draft search(const float* x) {
  Affine wanted[kSubs];
  double top_scale = 0, top_min = 0;
  for (int s = 0; s < kSubs; ++s) {
    wanted[s] = fit(x + s * kSub);
    top_scale = std::max(top_scale, wanted[s].scale);
    top_min = std::max(top_min, wanted[s].min);
  }
  Draft best{.d = as_f16(top_scale / kTopScale), .dmin = as_f16(top_min / kTopScale)};
  choose_codes(x, wanted, best);
  for (int round = 0; round < 4; ++round) {
    const Affine unit = refit(x, best);
    if (unit.scale <= 0 || unit.min < 0) break;
    Draft next{.d = as_f16(unit.scale), .dmin = as_f16(unit.min)};
    choose_codes(x, wanted, next);
    if (next.error >= best.error) break;
    best = next;
  }
  climb(x, wanted, best);
  return best;
}

}  // namespace

void Q4_K::encode(const float* in, Block& block) {
  const Draft draft = search(in);
  Scales scales;
  for (int s = 0; s < kSubs; ++s) {
    scales.scale[s] = static_cast<std::uint8_t>(draft.scale[s]);
    scales.min[s] = static_cast<std::uint8_t>(draft.min[s]);
  }
  block.d = formats::scale_to_f16(static_cast<float>(draft.d));
  block.dmin = formats::scale_to_f16(static_cast<float>(draft.dmin));
  pack_scales(scales, block.scales);
  for (int i = 0; i < kBlock / 2; ++i) {
    const int low = i / kSub * 2 * kSub + i % kSub;
    block.q[i] = static_cast<std::uint8_t>(draft.q[low] | draft.q[low + kSub] << 4);
  }
}

const Format kQ4_KFormat{
    .dtype = q4_k, .decode = formats::decode_row<Q4_K>, .encode = formats::encode_row<Q4_K>};

}  // namespace weft
