#include "weft/ops/formats/q6_k.h"

#include <algorithm>

#include "formats/codec.h"

namespace weft {
namespace {

constexpr int kSub = Q6_K::kSub;
constexpr int kSubs = Q6_K::kSubs;
constexpr int kLowCode = -32, kHighCode = 31;
constexpr int kLowScale = -128, kHighScale = 127;

// Where weight i of a block keeps its bits: a nibble of ql and a pair of bits of qh.
struct Place {
  int ql, ql_shift, qh, qh_shift;
};
constexpr Place place(int i) {
  const int half = i / 128, quarter = i % 128 / 32, l = i % 32;
  return {half * 64 + quarter % 2 * 32 + l, quarter / 2 * 4, half * 32 + l, quarter * 2};
}

}  // namespace

void Q6_K::decode(const Block& block, float* out) {
  const float d = f16_to_f32(block.d);
  for (int i = 0; i < kBlock; ++i) {
    const Place p = place(i);
    const int low = block.ql[p.ql] >> p.ql_shift & 15;
    const int high = block.qh[p.qh] >> p.qh_shift & 3;
    const float scale = d * static_cast<float>(block.scale[i / kSub]);
    out[i] = scale * static_cast<float>((low | high << 4) - 32);
  }
}

namespace {

double quantize(const float* x, double scale, int* q) {
  double error = 0;
  for (int i = 0; i < kSub; ++i) {
    q[i] = scale != 0 ? formats::round_to(x[i] / scale, kLowCode, kHighCode) : 0;
    const double e = x[i] - scale * q[i];
    error += e * e;
  }
  return error;
}

// The real scale of least squared error among grids near the ones that put the extreme value at an
// end, of either sign (the codes reach one step further down than up).
double fit(const float* x) {
  const float extreme =
      *std::max_element(x, x + kSub, [](float a, float b) { return std::fabs(a) < std::fabs(b); });
  int q[kSub];
  double best = 0, best_error = quantize(x, 0, q);
  for (int k = -9; k <= 9; ++k) {
    for (const double end : {-32 - 0.1 * k, 32 + 0.1 * k}) {
      quantize(x, extreme / end, q);
      double xq = 0, qq = 0;
      for (int i = 0; i < kSub; ++i) {
        xq += double{x[i]} * q[i];
        qq += q[i] * q[i];
      }
      if (qq == 0) continue;
      const double error = quantize(x, xq / qq, q);
      if (error < best_error) {
        best_error = error;
        best = xq / qq;
      }
    }
  }
  return best;
}

// A whole block on its way to bytes.
struct Draft {
  double d = 0;  // as it reads back from f16
  int scale[kSubs] = {};
  int q[Q6_K::kBlock] = {};
  double error = 0;
};

double as_f16(double x) {
  return f16_to_f32(formats::scale_to_f16(static_cast<float>(x)));
}

// Per sub-block, the integer scale next to the wanted one with the least error.
void choose_codes(const float* x, const double* wanted, Draft& draft) {
  draft.error = 0;
  for (int s = 0; s < kSubs; ++s) {
    const int scale0 =
        draft.d != 0 ? formats::round_to(wanted[s] / draft.d, kLowScale, kHighScale) : 0;
    double best = HUGE_VAL;
    for (int scale = std::max(kLowScale, scale0 - 1); scale <= std::min(kHighScale, scale0 + 1);
         ++scale) {
      int q[kSub];
      const double error = quantize(x + s * kSub, draft.d * scale, q);
      if (error >= best) continue;
      best = error;
      draft.scale[s] = scale;
      std::copy(q, q + kSub, draft.q + s * kSub);
    }
    draft.error += best;
  }
}

// The d of least squared error for the codes and scales of a draft; 0 where nothing depends on it.
double refit(const float* x, const Draft& draft) {
  double aa = 0, xa = 0;
  for (int i = 0; i < Q6_K::kBlock; ++i) {
    const double a = draft.scale[i / kSub] * draft.q[i];
    aa += a * a;
    xa += x[i] * a;
  }
  return aa > 0 ? xa / aa : 0;
}

Draft search(const float* x) {
  double wanted[kSubs];
  double top = 0;
  for (int s = 0; s < kSubs; ++s) {
    wanted[s] = fit(x + s * kSub);
    if (std::fabs(wanted[s]) > std::fabs(top)) top = wanted[s];
  }
  Draft best{.d = as_f16(top / kLowScale)};
  choose_codes(x, wanted, best);
  for (int round = 0; round < 4; ++round) {
    Draft next{.d = as_f16(refit(x, best))};
    if (next.d == 0) break;
    choose_codes(x, wanted, next);
    if (next.error >= best.error) break;
    best = next;
  }
  return best;
}

}  // namespace

void Q6_K::encode(const float* in, Block& block) {
  const Draft draft = search(in);
  block = {};
  block.d = formats::scale_to_f16(static_cast<float>(draft.d));
  for (int s = 0; s < kSubs; ++s) block.scale[s] = static_cast<std::int8_t>(draft.scale[s]);
  for (int i = 0; i < kBlock; ++i) {
    const Place p = place(i);
    const int code = draft.q[i] + 32;
    block.ql[p.ql] = static_cast<std::uint8_t>(block.ql[p.ql] | (code & 15) << p.ql_shift);
    block.qh[p.qh] = static_cast<std::uint8_t>(block.qh[p.qh] | (code >> 4) << p.qh_shift);
  }
}

const Format kQ6_KFormat{
    .dtype = q6_k, .decode = formats::decode_row<Q6_K>, .encode = formats::encode_row<Q6_K>};

}  // namespace weft
