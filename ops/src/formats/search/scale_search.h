#pragma once
// Searches for the scales of a block whose sub-blocks have a scale each, as multiples of one unit:
//   weight = unit * step(level[s]) * value(code),     unit = kUnit * d, d an f16
// so that the sum of importance * (x - weight)^2 is minimal.
//
// First, every sub-block is encoded at several tentative scales. For given codes the error is a
// parabola in the scale (Sums::error), so the minimum over these parabolas estimates the error of
// any scale, and many units can be tried quickly. Then the best unit is refined with real codes:
// levels next to the wanted ones, codes for these levels, the unit by least squares, and so on.
//
// A format defines, as static members of F:
//   kSubs, kSub           sub-blocks of a block and weights of each
//   kTop                  the largest magnitude of value()
//   kLevels, step(level)  ascending; the largest of them in magnitude is kTopStep
//   kUnit                 as above
//   kScales, kFrom, kTo   tentative scales, as multiples of the one that maps kTop to the largest
//                         weight
//   kSigned               whether -scale differs from scale: values are not symmetric
//   kVariants             number of variants of codes; a sub-block uses one of them
//   Codes                 of one sub-block
//   quantize(x, w, scale, variant, codes) -> Sums   for one sub-block; may be given any scale but 0

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "formats/codec.h"
#include "formats/search/lattice.h"

namespace weft::formats {

template <class F>
class ScaleSearch {
 public:
  static constexpr int kBlock = F::kSubs * F::kSub;
  struct Sub {
    int level = 0, variant = 0;
    typename F::Codes codes{};
    Sums sums;
    double error = 0;  // relative to that of zeros
  };
  struct Draft {
    double unit = 0;          // as it reads back, of normalized weights
    double error = HUGE_VAL;  // likewise
    Sub subs[F::kSubs];
  };

  // `importance` may be null: all count the same.
  ScaleSearch(const float* x, const float* importance) {
    float amax = 0, max_importance = 0, total = 0;
    for (int i = 0; i < kBlock; ++i) amax = std::max(amax, std::fabs(x[i]));
    // Too small for any scale that an f16 can hold.
    if (amax < kSmallest) return;
    amax_ = amax;
    for (int i = 0; importance && i < kBlock; ++i)
      max_importance = std::max(max_importance, importance[i]);
    for (int i = 0; i < kBlock; ++i) {
      x_[i] = x[i] / amax;
      w_[i] = max_importance > 0 ? importance[i] / max_importance : 1;
      total += w_[i];
    }
    // Columns without importance get a small weight, too.
    for (float& w : w_) w += 1e-6f * total / kBlock;
  }

  // The scale d as an f16, and the sub-blocks in `draft`.
  std::uint16_t run(Draft& draft) {
    if (amax_ == 0) return 0;
    for (int s = 0; s < F::kSubs; ++s) try_scales(s);
    const double unit = best_unit();
    refine(unit, draft);
    const double d = d_of(draft.unit);
    if (std::fabs(d) < kCoarse) {
      for (const double tiny : {kTiny, 2 * kTiny, d - kTiny, d + kTiny}) {
        Draft other;
        refine(unit_of(tiny), other);
        if (other.error < draft.error) draft = other;
      }
    }
    return scale_to_f16(static_cast<float>(d_of(draft.unit)));
  }

 private:
  static constexpr int kTries = F::kScales * F::kVariants * (F::kSigned ? 2 : 1);
  static constexpr float kSmallest = 0x1p-26f;
  static constexpr double kTiny = 0x1p-24;       // the smallest positive f16
  static constexpr double kCoarse = 64 * kTiny;  // below it, f16 has at most 6 significant bits
  struct Try {
    double gg[kTries], gx[kTries];
    double wanted[2] = {};  // the best scale, and the best one of the other sign
  };

  double d_of(double unit) const { return unit / F::kUnit * amax_; }
  double unit_of(double d) const { return d * F::kUnit / amax_; }
  double as_stored(double unit) const {
    return unit_of(f16_to_f32(scale_to_f16(static_cast<float>(d_of(unit)))));
  }

  void try_scales(int s) {
    Try& t = tries_[s];
    const float* x = x_ + s * F::kSub;
    const float* w = w_ + s * F::kSub;
    float top = 0;
    for (int i = 0; i < F::kSub; ++i) top = std::max(top, std::fabs(x[i]));
    if (top < 0x1p-40f) top = 0x1p-40f;
    double min_error[2] = {HUGE_VAL, HUGE_VAL};
    int n = 0;
    for (int k = 0; k < F::kScales; ++k) {
      const float scale = top / F::kTop * F::kFrom *
                          std::pow(F::kTo / F::kFrom, static_cast<float>(k) / (F::kScales - 1));
      for (int sign = 0; sign < (F::kSigned ? 2 : 1); ++sign) {
        for (int v = 0; v < F::kVariants; ++v, ++n) {
          typename F::Codes codes;
          const Sums sums = F::quantize(x, w, sign ? -scale : scale, v, codes);
          t.gg[n] = sums.gg;
          t.gx[n] = sums.gx;
          const double error = sums.error(sums.scale());
          if (error < min_error[sign]) {
            min_error[sign] = error;
            t.wanted[sign] = sums.scale();
          }
        }
      }
    }
  }

  // The level whose step times `unit` comes next to `scale`.
  static int nearest_level(double scale, double unit) {
    const double step = scale / unit;
    return round_to((step - F::step(0)) / (F::step(1) - F::step(0)), 0, F::kLevels - 1);
  }

  // For a sub-block at a unit: the choice that seems best, its estimated error, and its sums for
  // the least squares of the unit.
  struct Pick {
    int level = 0, variant = 0;
    double error = HUGE_VAL;
    Sums sums;
  };
  Pick pick(int s, double unit) const {
    const Try& t = tries_[s];
    Pick best;
    for (int sign = 0; sign < (F::kSigned ? 2 : 1); ++sign) {
      const int level = nearest_level(t.wanted[sign], unit);
      for (int l = std::max(0, level - 1); l <= std::min(F::kLevels - 1, level + 1); ++l) {
        const double step = F::step(l), scale = unit * step;
        double low = HUGE_VAL;
        int at = 0;
        for (int n = 0; n < kTries; ++n) {
          const double error = scale * (scale * t.gg[n] - 2 * t.gx[n]);
          if (error < low) {
            low = error;
            at = n;
          }
        }
        if (low < best.error)
          best = {l, at % F::kVariants, low, {step * step * t.gg[at], step * t.gx[at]}};
      }
    }
    return best;
  }

  double best_unit() const {
    double top = 0;
    for (const Try& t : tries_) top = std::max(top, std::fabs(t.wanted[0]));
    double best = 0, min_error = HUGE_VAL;
    const auto consider = [&](double unit) {
      for (int round = 0; round < 2; ++round) {
        unit = as_stored(unit);
        if (unit == 0) return;
        double error = 0;
        Sums all;
        for (int s = 0; s < F::kSubs; ++s) {
          const Pick p = pick(s, unit);
          error += p.error;
          all += p.sums;
        }
        if (error < min_error) {
          min_error = error;
          best = unit;
        }
        unit = all.scale();
      }
    };
    if constexpr (F::kSubs == 1) {
      const Try& t = tries_[0];
      for (int n = 0; n < kTries; ++n) consider(t.gg[n] > 0 ? t.gx[n] / t.gg[n] : 0);
      return best;
    }
    constexpr int kUnits = 14;
    for (int k = 0; k < kUnits; ++k) {
      const double unit = top / (F::kTopStep * (0.6 + 0.55 * k / (kUnits - 1)));
      consider(unit);
      if (F::kSigned) consider(-unit);
    }
    return best;
  }

  // Codes sub-block `s` at a level, if that is better than its codes so far.
  void code(int s, double unit, int level, int variant, Sub& best) const {
    Sub sub{.level = level, .variant = variant};
    const double scale = unit * F::step(level);
    if (F::step(level) != 0) {
      sub.sums = F::quantize(x_ + s * F::kSub, w_ + s * F::kSub, static_cast<float>(scale), variant,
                             sub.codes);
    }
    sub.error = sub.sums.error(scale);
    if (sub.error < best.error) best = sub;
  }

  // Encodes all sub-blocks at the levels that seem best. If scales are too coarse for estimates,
  // tries all levels near the wanted ones.
  Draft draft_at(double unit) const {
    Draft draft;
    draft.unit = unit;
    draft.error = 0;
    const bool thorough = std::fabs(d_of(unit)) < kCoarse;
    for (int s = 0; s < F::kSubs; ++s) {
      Sub& sub = draft.subs[s];
      sub.error = HUGE_VAL;
      const Pick p = pick(s, unit);
      code(s, unit, p.level, p.variant, sub);
      for (int sign = 0; thorough && sign < (F::kSigned ? 2 : 1); ++sign) {
        const int level = nearest_level(tries_[s].wanted[sign], unit);
        for (int l = std::max(0, level - 1); l <= std::min(F::kLevels - 1, level + 1); ++l) {
          for (int v = 0; v < F::kVariants; ++v) code(s, unit, l, v, sub);
        }
      }
      draft.error += sub.error;
    }
    return draft;
  }

  void refine(double unit, Draft& best) const {
    unit = as_stored(unit);
    if (unit == 0) {
      best = {.error = 0};
      return;
    }
    best = draft_at(unit);
    for (int round = 0; round < 2; ++round) {
      Sums all;
      for (const Sub& sub : best.subs) {
        const double step = F::step(sub.level);
        all += {step * step * sub.sums.gg, step * sub.sums.gx};
      }
      const double next_unit = as_stored(all.scale());
      if (next_unit == best.unit || next_unit == 0) return;
      const Draft next = draft_at(next_unit);
      if (next.error >= best.error) return;
      best = next;
    }
  }

  float amax_ = 0;
  float x_[kBlock] = {}, w_[kBlock] = {};
  Try tries_[F::kSubs];
};

}  // namespace weft::formats
