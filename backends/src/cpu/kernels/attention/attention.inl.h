#pragma once
// Online softmax (Milakov & Gimelshein 2018) over blocks of cells. With many rows (heads of a
// group, and tokens) the keys and values of a block are converted to tiles of floats, which all
// blocks of rows then use. A single block of rows reads keys and values directly.
//   scores   lanes are cells: a vector of 1 .. kLanes cells of element i times q[i] of each row
//   softmax  lanes are cells: exp(score - largest); largest and sums are kept per row
//   values   lanes are elements: p of each row and cell times a vector of the cell's elements
// Every score and every output element is one chain of FMAs in the order of E and of the cells, so
// that a row's bits depend only on its own inputs, not on the rows that are computed with it. All
// sets but SSE2 multiply quantized blocks as integers instead: keys always through a tile
// (CodeKeys), values directly (CodeValues), with one FMA per block in each chain.

#include "cpu/kernels/attention/attention_bias.inl.h"
#include "cpu/kernels/attention/attention_code_keys.inl.h"
#include "cpu/kernels/attention/attention_code_values.inl.h"
#include "cpu/kernels/attention/attention_steps.inl.h"
#include "cpu/simd/exp.inl.h"
#include "cpu/simd/simd.inl.h"
#include "cpu/simd/wide.inl.h"

namespace weft::cpu {

template <class Arch>
struct AttentionBlocks {
  using V = typename Simd<Arch>::V;
  using P = Part<Arch>;
  using W = Wide<Arch>;
  static constexpr int kLanes = Simd<Arch>::kLanes;
  static constexpr int kCells = AttentionKernels::kCells;
  static constexpr int kSums = 16;  // partial sums of a row
  using Rows = AttentionRows<Arch>;
  static constexpr int kRows = Rows::kMaxRows;
  static constexpr float kMinusInfinity = -__builtin_inff();

  struct State {  // the state that the steps share, as pointers into scratch
    const AttentionArgs& a;
    const AttentionScratch at;
    float *keys, *values, *p, *q, *y, *largest, *sums;
    const std::byte *k = nullptr, *v = nullptr;  // this block, in the cache or in a tile
    // This group's part of this block and of the next one (none: again this one), in the cache.
    const std::byte *k_here = nullptr, *v_here = nullptr, *k_next = nullptr, *v_next = nullptr;
    std::int64_t v_cell = 0;  // bytes
    bool keys_in_tile = false, keys_in_codes = false, values_in_codes = false;
    decltype(AttentionCells::values) add_values = nullptr;
    // The block of cells: n from s on, counted from the first one of the run's first block. Those
    // before `begin` (in that block) do not belong to the run.
    std::int64_t s = 0, n = 0, begin = 0, n_next = 0;  // n_next: of the next block
    AttentionAhead ahead = {};
  };

  static WEFT_INLINE void run(const AttentionArgs& a) {
    const std::int64_t n_rows = a.n_tokens * a.n_heads;
    const AttentionScratch at(n_rows, a.e, a.e_out);
    float* const f = a.scratch;
    State state{a,        at,       f + at.keys,    f + at.values, f + at.p,
                f + at.q, f + at.y, f + at.largest, f + at.sums};
    std::int64_t n_cells = 0;
    for (std::int64_t t = 0; t < a.n_tokens; ++t) {
      const std::int64_t n = a.last[t] - first_of_block(a) + 1;
      n_cells = n > n_cells ? n : n_cells;
    }
    state.keys_in_codes = a.q_in_blocks && a.k_cells.key_codes != nullptr;
    state.values_in_codes = a.v_cells.code_values != nullptr;
    start(state, n_rows);
    state.begin = a.first % kCells;
    const std::int32_t* block = a.blocks + a.first / kCells;
    find_next(state, *block);
    for (state.s = 0; state.s < n_cells; state.s += kCells, state.begin = 0) {
      state.n = n_cells - state.s < kCells ? n_cells - state.s : kCells;
      state.k_here = state.k_next;
      state.v_here = state.v_next;
      if (state.s + kCells < n_cells) find_next(state, *++block);
      look_ahead(state, n_rows, n_cells - state.s - kCells);
      take_keys(state, n_rows);
      take_values(state, n_rows);
      for_row_blocks(
          n_rows, [&](std::int64_t r0, int n)
                      __attribute__((always_inline)) { rows<kRows>(state, r0, n); });
    }
    finish(state, n_rows);
  }

  static WEFT_INLINE std::int64_t first_of_block(const AttentionArgs& a) {
    return a.first - a.first % kCells;
  }

  static WEFT_INLINE void find_next(State& state, std::int64_t block) {
    state.k_next = state.a.k + block * state.a.k_stride;
    state.v_next = state.a.v + block * state.a.v_stride;
  }

  static WEFT_INLINE void take_keys(State& state, std::int64_t n_rows) {
    const AttentionArgs& a = state.a;
    state.k = state.k_here;
    if (state.keys_in_codes)
      return a.k_cells.key_codes(state.k, a.k_bytes, state.n, a.e, state.keys);
    // Without quads the shuffles do not overlap with the products: the tile is faster.
    state.keys_in_tile = n_rows > kRows || KeyQuads<Arch, CellsF32<Arch>>::kElements == 0;
    if (state.keys_in_tile) a.k_cells.key_tile(state.k, a.k_bytes, state.n, a.e, state.keys);
  }

  static WEFT_INLINE void take_values(State& state, std::int64_t n_rows) {
    const AttentionArgs& a = state.a;
    const std::byte* v = state.v_here;
    if (state.values_in_codes) {
      state.v = v;
      return a.v_cells.value_scales(v, a.v_bytes, state.n, a.e_out, state.values);
    }
    const bool whole = a.e_out == state.at.padded_e_out;
    if (whole && n_rows <= kRows) {
      state.v = v;
      state.v_cell = a.v_bytes;
      state.add_values = a.v_cells.values;
      return;
    }
    a.v_cells.value_tile(v, a.v_bytes, state.n, a.e_out, state.at.padded_e_out, state.values);
    state.v = reinterpret_cast<const std::byte*>(state.values);
    state.v_cell = state.at.padded_e_out * 4;
    state.add_values = &AttentionSteps<Arch, CellsF32<Arch>>::values;
  }

  static WEFT_INLINE void look_ahead(State& state, std::int64_t n_rows, std::int64_t rest) {
    const AttentionArgs& a = state.a;
    const std::int64_t vectors = kCells / kLanes + state.at.padded_e_out / kLanes;
    const std::int64_t calls = (n_rows + kRows - 1) / kRows * vectors / 2 * 4;
    const std::int64_t n = rest < 0 ? 0 : rest < kCells ? rest : kCells;
    state.n_next = n;
    state.ahead.keys = {state.k_next, state.k_next + n * a.k_bytes};
    state.ahead.values = {state.v_next, state.v_next + n * a.v_bytes};
    const std::int64_t max_bytes = a.k_bytes > a.v_bytes ? a.k_bytes : a.v_bytes;
    state.ahead.per_call = n * max_bytes / 64 / calls + 1;
  }

  // f(first row, number of rows) for blocks of rows of nearly the same size.
  template <class F>
  static WEFT_INLINE void for_row_blocks(std::int64_t n_rows, F f) {
    const std::int64_t n_blocks = (n_rows + kRows - 1) / kRows;
    for (std::int64_t i = 0, r0 = 0; i < n_blocks; ++i) {
      const std::int64_t n = n_rows / n_blocks + (i < n_rows % n_blocks);
      f(r0, static_cast<int>(n));
      r0 += n;
    }
  }

  // Each block of rows of q as [E][rows], or as CodeKeys::Queries.
  static WEFT_INLINE void start(const State& state, std::int64_t n_rows) {
    const AttentionArgs& a = state.a;
    for_row_blocks(
        n_rows, [&](std::int64_t r0, int n) __attribute__((always_inline)) {
          for (int r = 0; r < n; ++r) {
            const std::int64_t t = (r0 + r) / a.n_heads, h = (r0 + r) % a.n_heads;
            take_query(state, t, h, state.q + r0 * a.e, r, n);
          }
        });
    for (std::int64_t r = 0; r < n_rows; ++r) {
      state.largest[r] = kMinusInfinity;
      W::zero().store(state.sums + r * kSums);
      if (a.bias) AddBias<Arch>::start(a, r, state.largest[r], state.sums[r * kSums]);
      for (std::int64_t i = 0; i < state.at.padded_e_out; i += kLanes)
        V(0.0f).store_aligned(state.y + r * state.at.padded_e_out + i);
    }
  }

  // Row r of n from the head of a token.
  static WEFT_INLINE void take_query(const State& state, std::int64_t t, std::int64_t h, float* to,
                                     int r, int n) {
    const AttentionArgs& a = state.a;
    const std::byte* from = a.q + t * a.q_stride;
    if (!a.q_in_blocks) {
      const float* q = reinterpret_cast<const float*>(from) + h * a.e;
      for (std::int64_t i = 0; i < a.e; ++i) to[i * n + r] = q[i];
      return;
    }
    using Block = ActivationBlock;
    from += h * a.e / Block::kElements * Block::kBytes;
#ifdef WEFT_SIXTEEN
    if (state.keys_in_codes)
      return CodeKeys<Arch>::take_query(from, a.e, a.scale, a.k_cells.raised, {to, n, a.e}, r, n);
#endif
    for (std::int64_t i = 0; i < a.e; ++i) {
      const std::byte* block = from + i / Block::kElements * Block::kBytes;
      float scale;
      std::memcpy(&scale, block + Block::kScale, 4);
      const auto code = static_cast<std::int8_t>(block[Block::kCodes + i % Block::kElements]);
      to[i * n + r] = scale * static_cast<float>(code);
    }
  }

  static WEFT_INLINE void finish(const State& state, std::int64_t n_rows) {
    const AttentionArgs& a = state.a;
    for (std::int64_t r = 0; r < n_rows; ++r) {
      const V sum(W::load(state.sums + r * kSums).sum());
      float* y =
          reinterpret_cast<float*>(a.y + r / a.n_heads * a.y_stride) + r % a.n_heads * a.e_out;
      P::map(
          a.e_out, state.y + r * state.at.padded_e_out,
          y, [&](V v) __attribute__((always_inline)) { return v / sum; });
    }
  }

  // The kernel for exactly n rows.
  template <int R>
  static WEFT_INLINE void rows(State& state, std::int64_t r0, int n) {
    if (n == R) return row_block<R>(state, r0);
    if constexpr (R > 1) rows<R - 1>(state, r0, n);
  }

  template <int R>
  static WEFT_INLINE void row_block(State& state, std::int64_t r0) {
    std::int64_t n[R], max_n = 0, min_n = kCells;  // cells of this block that each row sees
    std::int64_t t = r0 / state.a.n_heads, next = (t + 1) * state.a.n_heads;
    for (int r = 0; r < R; ++r) {
      if (r0 + r == next) ++t, next += state.a.n_heads;
      const std::int64_t own = state.a.last[t] - first_of_block(state.a) + 1 - state.s;
      n[r] = own < 0 ? 0 : own < kCells ? own : kCells;
      max_n = n[r] > max_n ? n[r] : max_n;
      min_n = n[r] < min_n ? n[r] : min_n;
    }
    if (max_n == 0) return;
    score<R>(state, r0, max_n);
    if (state.a.bias)
      AddBias<Arch>::run(state.a, r0, R, first_of_block(state.a) + state.s, max_n, state.p);
    alignas(64) float rescale[16], peaks[16];
    softmax<R>(state, r0, n, rescale, peaks);
    if (state.values_in_codes) {
      const AttentionCodeValues step{.v = state.v,
                                     .cell = state.a.v_bytes,
                                     .e = state.a.e_out,
                                     .begin = state.begin,
                                     .end = n,
                                     .scales = state.values,
                                     .p = state.p,
                                     .peaks = peaks,
                                     .rescale = rescale,
                                     .y = state.y + r0 * state.at.padded_e_out,
                                     .width = state.at.padded_e_out};
      return state.a.v_cells.code_values(step, R, state.ahead);
    }
    values(state, state.p, r0, R, state.begin, min_n, rescale);
    if (min_n == max_n) return;
    const float one[1] = {1};
    for (int r = 0; r < R; ++r) {
      if (n[r] > min_n) values(state, state.p + r * kCells, r0 + r, 1, min_n, n[r], one);
    }
  }

  // The scores of R rows with n cells, with the method chosen for the keys. Prefetches the next
  // inputs into L1.
  template <int R>
  static WEFT_INLINE void score(State& state, std::int64_t r0, std::int64_t n) {
    if (state.keys_in_tile) return scores<R>(state, r0, n);
    const AttentionArgs& a = state.a;
    float* const q = state.q + r0 * a.e;
    state.ahead.soon = {state.v_here, state.v_here + state.n * a.v_bytes};
    if (state.keys_in_codes) {
#ifdef WEFT_SIXTEEN
      CodeKeys<Arch>::template scores<R>(state.keys, q, n, a.e, state.p, state.ahead);
#endif
    } else {
      const AttentionScores step{.k = state.k,
                                 .cell = a.k_bytes,
                                 .n = n,
                                 .e = a.e,
                                 .q = q,
                                 .scale = a.scale,
                                 .p = state.p};
      a.k_cells.scores(step, R, state.ahead);
    }
    state.ahead.soon = {state.k_next, state.k_next + state.n_next * a.k_bytes};
  }

  // The same as AttentionSteps::scores, from the tile.
  template <int R>
  static __attribute__((noinline)) void scores(State& state, std::int64_t r0, std::int64_t n) {
    constexpr int C = Rows::columns(R);
    const std::int64_t e = state.a.e;
    for (std::int64_t s = 0; s < n; s += C * kLanes) {
      V sums[R][C];
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
        for (int c = 0; c < C; ++c) sums[r][c] = V(0.0f);
      }
      const float* q = state.q + r0 * e;
      const float* k = state.keys + s;
      for (std::int64_t i = 0; i < e;) {
        state.ahead.fetch();
        const std::int64_t stop = i + Rows::kPerFetch < e ? i + Rows::kPerFetch : e;
        for (; i < stop; ++i, q += R, k += kCells) {
          V keys[C];
#pragma GCC unroll 4
          for (int c = 0; c < C; ++c) keys[c] = V::load_aligned(k + c * kLanes);
#pragma GCC unroll 8
          for (int r = 0; r < R; ++r) {
            const V qs(q[r]);
#pragma GCC unroll 4
            for (int c = 0; c < C; ++c) sums[r][c] = Simd<Arch>::fma(qs, keys[c], sums[r][c]);
          }
        }
      }
      const V scale(state.a.scale);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
        for (int c = 0; c < C; ++c)
          (scale * sums[r][c]).store_aligned(state.p + r * kCells + s + c * kLanes);
      }
    }
  }

  // Turns each row's n scores into exp(score - largest) and adds them to its sums. Returns the
  // factors for the sums so far, and the largest of these exponentials.
  template <int R>
  static __attribute__((noinline)) void softmax(const State& state, std::int64_t r0,
                                                const std::int64_t (&n)[R], float (&rescale)[16],
                                                float (&peaks)[16]) {
    float base[R];
    for (int r = 0; r < 16; ++r) rescale[r] = peaks[r] = 0;
    for (int r = 0; r < R; ++r) {
      float* const p = state.p + r * kCells;
      float& largest = state.largest[r0 + r];
      for (std::int64_t i = 0; i < state.begin; ++i) p[i] = kMinusInfinity;
      for (std::int64_t i = n[r]; i < kCells; ++i) p[i] = kMinusInfinity;
      V top(kMinusInfinity);
#pragma GCC unroll 16
      for (int i = 0; i < kCells; i += kLanes) top = xsimd::max(top, V::load_aligned(p + i));
      const float here = Simd<Arch>::max(top), now = here > largest ? here : largest;
      // Nothing but -inf so far: their exponentials are 0, not exp(-inf + inf).
      base[r] = now == kMinusInfinity ? 0 : now;
      rescale[r] = largest - base[r];
      peaks[r] = here - base[r];
      largest = now;
    }
    for (int i = 0; i < R; i += kLanes) {
      Exp<Arch>::of_negative(V::load_aligned(rescale + i)).store_aligned(rescale + i);
      Exp<Arch>::of_negative(V::load_aligned(peaks + i)).store_aligned(peaks + i);
    }
    for (int r = 0; r < R; ++r) {
      float* const p = state.p + r * kCells;
      float* const sums = state.sums + (r0 + r) * kSums;
      W total = W::load(sums) * V(rescale[r]);
#pragma GCC unroll 16
      for (int i = 0; i < kCells; i += kLanes) {
        const V e = Exp<Arch>::of_negative(V::load_aligned(p + i) - V(base[r]));
        e.store_aligned(p + i);
        V& part = total.part[i / kLanes % W::kParts];
        part = part + e;
      }
      total.store(sums);
    }
  }

  // Adds the values of the cells [begin, end) of the block to n_rows rows from r0 on.
  static WEFT_INLINE void values(State& state, const float* p, std::int64_t r0, int n_rows,
                                 std::int64_t begin, std::int64_t end, const float* rescale) {
    const AttentionValues step{.v = state.v,
                               .cell = state.v_cell,
                               .begin = begin,
                               .end = end,
                               .p = p,
                               .rescale = rescale,
                               .y = state.y + r0 * state.at.padded_e_out,
                               .width = state.at.padded_e_out};
    state.add_values(step, n_rows, state.ahead);
  }
};

template <class Arch>
struct AttentionFunctions {
  static void run(const AttentionArgs& a) noexcept { AttentionBlocks<Arch>::run(a); }
};

template <class Arch, class Cells>
constexpr AttentionCells attention_cells() {
  AttentionCells cells = AttentionSteps<Arch, Cells>::kKernels;
#ifdef WEFT_SIXTEEN
  if constexpr (Cells::kBytes == 0 && !Cells::kHasMin) {
    cells.value_tile = nullptr, cells.values = nullptr;
    cells.key_codes = &CodeKeys<Arch>::template key_codes<Cells>;
    cells.raised = CodeKeys<Arch>::raised(Cells());
    cells.value_scales = &CodeValues<Arch, Cells>::scales;
    cells.code_values = &CodeValues<Arch, Cells>::add;
  }
#endif
  return cells;
}

template <class Arch>
AttentionKernels Attention<Arch>::run() noexcept {
  return {.run = &AttentionFunctions<Arch>::run,
          .f32 = attention_cells<Arch, CellsF32<Arch>>(),
          .f16 = attention_cells<Arch, CellsF16<Arch>>(),
          .q8_0 = attention_cells<Arch, CellsQ8_0<Arch>>(),
          .q5_1 = attention_cells<Arch, CellsQ5_1<Arch>>(),
          .q5_0 = attention_cells<Arch, CellsQ5_0<Arch>>(),
          .q4_1 = attention_cells<Arch, CellsQ4_1<Arch>>(),
          .q4_0 = attention_cells<Arch, CellsQ4_0<Arch>>()};
}

}  // namespace weft::cpu
