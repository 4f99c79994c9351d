#pragma once
// Encoders of formats whose blocks have a scale in f16 (and one for minima) times small integers
// for every sub-block. First, real scales are fitted to the sub-blocks. Then two steps alternate:
// choosing integers near them, and fitting the block's scale to the integers and codes.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "formats/codec.h"
#include "formats/integer/groups.h"

namespace weft::formats {

// How a format divides its blocks: kSubs sub-blocks of kSub weights.
template <int kSubSize, int kSubCount>
struct Blocks {
  static constexpr int kSub = kSubSize, kSubs = kSubCount, kElems = kSub * kSubs;
  static constexpr int kPerBatch = kLanes / kSubs;
};

// Iterations of choosing integers and fitting the scale of the block.
inline constexpr int kTurns = 4;
// Iterations that only refine the best fit.
inline constexpr int kPolish = 3;

WEFT_LANES inline Floats clamp(const Floats& x, int low, int high) {
  return min_lanes(max_lanes(x, all_lanes(static_cast<float>(low))),
                   all_lanes(static_cast<float>(high)));
}

// The lanes of block b of a batch set to a value, the others as they are.
template <class B>
WEFT_LANES inline void set_block(Floats& lanes, int b, float value) {
  for (int s = 0; s < B::kSubs; ++s) lanes[b * B::kSubs + s] = value;
}
template <class B>
WEFT_LANES inline double sum_of_block(const Floats& lanes, int b) {
  double sum = 0;
  for (int s = 0; s < B::kSubs; ++s) sum += double{lanes[b * B::kSubs + s]};
  return sum;
}
// Takes the lanes of block b from another vector.
template <class B>
WEFT_LANES inline void copy_block(const Floats& from, Floats& to, int b) {
  for (int s = 0; s < B::kSubs; ++s) to[b * B::kSubs + s] = from[b * B::kSubs + s];
}

inline float as_f16(double x) {
  return f16_to_f32(scale_to_f16(static_cast<float>(x)));
}

// --- w = (d * scale) * q - (dmin * min), scale and min in 0..kTopScale, q in 0..kTopCode ---

template <class B>
struct AffineBlock {
  std::uint16_t d, dmin;
  std::uint8_t scale[B::kSubs], min[B::kSubs], q[B::kElems];
};

template <class B, int kTopCode, int kTopScale, int kReach, bool kWeighted>
struct AffineSearch {
  using G = Group<B::kSub, kWeighted>;
  struct Choice {
    Floats d, dmin;     // as they read back from f16
    Floats scale, min;  // whole numbers
    Floats error;
    WEFT_LANES Affine affine() const { return {d * scale, dmin * min}; }
  };

  G g;
  Affine wanted;

  // Chooses the integer scales and minima within `reach` of the wanted ones with the smallest
  // error.
  WEFT_LANES void choose(Choice& c, int reach) const {
    const Floats scale0 =
        nearest_integer(clamp(wanted.scale * grid(all_lanes(1), c.d), 0, kTopScale));
    const Floats min0 =
        nearest_integer(clamp(wanted.min * grid(all_lanes(1), c.dmin), 0, kTopScale));
    c.error = all_lanes(FLT_MAX);
    for (int i = -reach; i <= reach; ++i) {
      for (int j = -reach; j <= reach; ++j) {
        const Floats scale = clamp(scale0 + static_cast<float>(i), 0, kTopScale);
        const Floats min = clamp(min0 + static_cast<float>(j), 0, kTopScale);
        const Floats error = affine_error<kTopCode>(g, Affine{c.d * scale, c.dmin * min});
        const Ints better = error < c.error;
        c.error = better ? error : c.error;
        c.scale = better ? scale : c.scale;
        c.min = better ? min : c.min;
      }
    }
  }

  // Puts into `next` the d and dmin of least squared error for the codes, scales and minima of `c`,
  // for every block that has one.
  WEFT_LANES void refit(const Choice& c, Choice& next) const {
    const Affine a = c.affine();
    const Floats inverse = grid(all_lanes(1), a.scale);
    Floats q{}, qq{}, xq{}, sx{};
    for (int i = 0; i < B::kSub; ++i) {
      const Floats code = affine_code<kTopCode>(g.x[i], a, inverse);
      const Floats wq = g.weighted(i, code);
      q += wq;
      qq += wq * code;
      xq += wq * g.x[i];
      sx += g.weighted(i, g.x[i]);
    }
    const Floats laa = c.scale * c.scale * qq, lab = c.scale * c.min * q,
                 lbb = c.min * c.min * g.total(), lxa = c.scale * xq, lxb = c.min * sx;
    for (int b = 0; b < B::kPerBatch; ++b) {
      const double aa = sum_of_block<B>(laa, b), ab = sum_of_block<B>(lab, b),
                   bb = sum_of_block<B>(lbb, b), xa = sum_of_block<B>(lxa, b),
                   xb = sum_of_block<B>(lxb, b);
      double d = 0, dmin = 0;
      if (aa <= 0) continue;
      if (bb <= 0) {
        d = xa / aa;
      } else {
        const double det = aa * bb - ab * ab;
        if (det <= 1e-9 * aa * bb) continue;
        d = (xa * bb - xb * ab) / det;
        dmin = (xa * ab - xb * aa) / det;
      }
      if (d <= 0 || dmin < 0) continue;
      set_block<B>(next.d, b, as_f16(d));
      set_block<B>(next.dmin, b, as_f16(dmin));
    }
  }

  // Copies the blocks of `next` that have a smaller error; returns whether there is one.
  WEFT_LANES static bool take_better(const Choice& next, Choice& best) {
    bool any = false;
    for (int b = 0; b < B::kPerBatch; ++b) {
      if (!(sum_of_block<B>(next.error, b) < sum_of_block<B>(best.error, b))) continue;
      any = true;
      copy_block<B>(next.d, best.d, b);
      copy_block<B>(next.dmin, best.dmin, b);
      copy_block<B>(next.scale, best.scale, b);
      copy_block<B>(next.min, best.min, b);
      copy_block<B>(next.error, best.error, b);
    }
    return any;
  }

  // If d or dmin is subnormal in f16 its neighbours are far away, and the best pair is found by
  // climbing among them.
  WEFT_LANES void climb(Choice& best) const {
    constexpr float kUnit = 0x1p-24f, kCoarse = 256 * kUnit;
    const Ints coarse =
        ((best.d > 0) & (best.d < kCoarse)) | ((best.dmin > 0) & (best.dmin < kCoarse));
    bool any = false;
    for (int s = 0; s < kLanes; ++s) any |= coarse[s] != 0;
    for (int round = 0; any && round < 32; ++round) {
      const Choice start = best;
      any = false;
      for (int i = -1; i <= 1; ++i) {
        for (int j = -1; j <= 1; ++j) {
          Choice next = start;
          const Floats up = coarse ? all_lanes(kUnit) : all_lanes(0);
          next.d = max_lanes(start.d + up * static_cast<float>(i), all_lanes(0));
          next.dmin = max_lanes(start.dmin + up * static_cast<float>(j), all_lanes(0));
          for (int s = 0; s < kLanes; ++s) {
            next.d[s] = as_f16(double{next.d[s]});
            next.dmin[s] = as_f16(double{next.dmin[s]});
          }
          choose(next, 1);
          any |= take_better(next, best);
        }
      }
    }
  }

  WEFT_LANES Choice search() const {
    Choice best{};
    for (int b = 0; b < B::kPerBatch; ++b) {
      float scale = 0, min = 0;
      for (int s = b * B::kSubs; s < (b + 1) * B::kSubs; ++s) {
        scale = std::max(scale, wanted.scale[s]);
        min = std::max(min, wanted.min[s]);
      }
      set_block<B>(best.d, b, as_f16(double{scale} / kTopScale));
      set_block<B>(best.dmin, b, as_f16(double{min} / kTopScale));
    }
    choose(best, kReach);
    for (int turn = 0; turn < kTurns; ++turn) {
      Choice next = best;
      refit(best, next);
      choose(next, 1);
      if (!take_better(next, best)) break;
    }
    climb(best);
    return best;
  }

  // Weights of kLanes sub-blocks to blocks.
  WEFT_LANES void run(const float* x, const float* w, const Trials& trials, AffineBlock<B>* out) {
    load_group(x, w, 65504.0f * kTopScale, g);
    wanted = fit_affine<kTopCode, true>(g, trials, kPolish);
    const Choice best = search();
    const Affine a = best.affine();
    const Floats inverse = grid(all_lanes(1), a.scale);
    for (int i = 0; i < B::kSub; ++i) {
      const Floats q = affine_code<kTopCode>(g.x[i], a, inverse);
      for (int s = 0; s < kLanes; ++s)
        out[s / B::kSubs].q[s % B::kSubs * B::kSub + i] = static_cast<std::uint8_t>(q[s]);
    }
    for (int s = 0; s < kLanes; ++s) {
      AffineBlock<B>& block = out[s / B::kSubs];
      block.scale[s % B::kSubs] = static_cast<std::uint8_t>(best.scale[s]);
      block.min[s % B::kSubs] = static_cast<std::uint8_t>(best.min[s]);
      block.d = f32_to_f16(best.d[s]);
      block.dmin = f32_to_f16(best.dmin[s]);
    }
  }
};

// --- w = (d * scale) * q, scale and q within kLow.. to kHigh.. ---

template <class B>
struct SymmetricBlock {
  std::uint16_t d;
  std::int8_t scale[B::kSubs], q[B::kElems];
};

template <class B, int kLowCode, int kHighCode, int kLowScale, int kHighScale, bool kWeighted>
struct SymmetricSearch {
  using G = Group<B::kSub, kWeighted>;
  struct Choice {
    Floats d, scale, error;
  };

  G g;
  Floats wanted;

  WEFT_LANES void choose(Choice& c) const {
    const Floats scale0 = nearest_integer(clamp(wanted * inverse_of(c.d), kLowScale, kHighScale));
    c.error = all_lanes(FLT_MAX);
    for (int i = -1; i <= 1; ++i) {
      const Floats scale = clamp(scale0 + static_cast<float>(i), kLowScale, kHighScale);
      const Floats error = symmetric_error<kLowCode, kHighCode>(g, c.d * scale);
      const Ints better = error < c.error;
      c.error = better ? error : c.error;
      c.scale = better ? scale : c.scale;
    }
  }

  WEFT_LANES void refit(const Choice& c, Choice& next) const {
    const Floats inverse = inverse_of(c.d * c.scale);
    Floats qq{}, xq{};
    for (int i = 0; i < B::kSub; ++i) {
      const Floats code = symmetric_code<kLowCode, kHighCode>(g.x[i], inverse);
      const Floats wq = g.weighted(i, code);
      qq += wq * code;
      xq += wq * g.x[i];
    }
    const Floats laa = c.scale * c.scale * qq, lxa = c.scale * xq;
    for (int b = 0; b < B::kPerBatch; ++b) {
      const double aa = sum_of_block<B>(laa, b), xa = sum_of_block<B>(lxa, b);
      if (aa > 0) set_block<B>(next.d, b, as_f16(xa / aa));
    }
  }

  WEFT_LANES static bool take_better(const Choice& next, Choice& best) {
    bool any = false;
    for (int b = 0; b < B::kPerBatch; ++b) {
      if (!(sum_of_block<B>(next.error, b) < sum_of_block<B>(best.error, b))) continue;
      any = true;
      copy_block<B>(next.d, best.d, b);
      copy_block<B>(next.scale, best.scale, b);
      copy_block<B>(next.error, best.error, b);
    }
    return any;
  }

  WEFT_LANES Choice search() const {
    Choice best{};
    for (int b = 0; b < B::kPerBatch; ++b) {
      float top = 0;
      for (int s = b * B::kSubs; s < (b + 1) * B::kSubs; ++s)
        top = std::fabs(wanted[s]) > std::fabs(top) ? wanted[s] : top;
      set_block<B>(best.d, b, as_f16(double{top} / kLowScale));
    }
    choose(best);
    for (int turn = 0; turn < kTurns; ++turn) {
      Choice next = best;
      refit(best, next);
      choose(next);
      if (!take_better(next, best)) break;
    }
    return best;
  }

  WEFT_LANES void run(const float* x, const float* w, const Trials& trials,
                      SymmetricBlock<B>* out) {
    load_group(x, w, 65504.0f * kHighScale, g);
    wanted = fit_symmetric<kLowCode, kHighCode>(g, trials, kPolish);
    const Choice best = search();
    const Floats inverse = inverse_of(best.d * best.scale);
    for (int i = 0; i < B::kSub; ++i) {
      const Floats q = symmetric_code<kLowCode, kHighCode>(g.x[i], inverse);
      for (int s = 0; s < kLanes; ++s)
        out[s / B::kSubs].q[s % B::kSubs * B::kSub + i] = static_cast<std::int8_t>(q[s]);
    }
    for (int s = 0; s < kLanes; ++s) {
      SymmetricBlock<B>& block = out[s / B::kSubs];
      block.scale[s % B::kSubs] = static_cast<std::int8_t>(best.scale[s]);
      block.d = f32_to_f16(best.d[s]);
    }
  }
};

// Runs a search over a row. `put(block found, block of the format)` brings it into its bytes.
template <class Search, class Found, class B, class Block, class Put>
void search_row(const float* in, const float* weights, const Trials& trials, std::byte* out,
                std::int64_t n_elems, Put put) {
  each_batch<B::kElems * B::kPerBatch>(
      in, weights, n_elems, [&](const float* x, const float* w, int n) {
        Found found[B::kPerBatch];
        run_on_lanes([&]() WEFT_LANES {
          Search search;
          search.run(x, w, trials, found);
        });
        for (int b = 0; b < n / B::kElems; ++b, out += sizeof(Block)) {
          Block block{};
          put(found[b], block);
          std::memcpy(out, &block, sizeof(Block));
        }
      });
}

// The functions of a Format. `Format` has kTopCode, kTopScale, kReach, put(found, block) and
// kTrials.
template <class F>
struct AffineEncoder {
  using B = Blocks<F::kSub, F::kSubs>;
  template <bool kWeighted>
  static void row(const float* in, const float* w, std::byte* out, std::int64_t n) {
    using Search = AffineSearch<B, F::kTopCode, F::kTopScale, F::kReach, kWeighted>;
    search_row<Search, AffineBlock<B>, B, typename F::Block>(in, w, F::kTrials, out, n, F::put);
  }
  static void encode(const float* in, std::byte* out, std::int64_t n) {
    row<false>(in, nullptr, out, n);
  }
  static void encode_weighted(const float* in, const float* importance, std::byte* out,
                              std::int64_t n) {
    row<true>(in, weights_of(importance, n).data(), out, n);
  }
};

template <class F>
struct SymmetricEncoder {
  using B = Blocks<F::kSub, F::kSubs>;
  template <bool kWeighted>
  static void row(const float* in, const float* w, std::byte* out, std::int64_t n) {
    using Search =
        SymmetricSearch<B, F::kLowCode, F::kHighCode, F::kLowScale, F::kHighScale, kWeighted>;
    search_row<Search, SymmetricBlock<B>, B, typename F::Block>(in, w, F::kTrials, out, n, F::put);
  }
  static void encode(const float* in, std::byte* out, std::int64_t n) {
    row<false>(in, nullptr, out, n);
  }
  static void encode_weighted(const float* in, const float* importance, std::byte* out,
                              std::int64_t n) {
    row<true>(in, weights_of(importance, n).data(), out, n);
  }
};

}  // namespace weft::formats
