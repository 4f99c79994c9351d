#pragma once
// Scores with integer products. Keys become a tile of dwords with four codes of a cell; lanes are
// cells. With q in Q8A (ops/formats/q8a.h) the products of a block are exact; they are scaled and
// added up block by block.

#include "cpu/kernels/attention/attention_quads.inl.h"
#include "cpu/kernels/attention/attention_rows.inl.h"

#ifdef WEFT_SIXTEEN

namespace weft::cpu {

template <class Arch>
struct CodeKeys {
  using Codes = AttentionCodes<Arch>;
  using S = Sixteen<Arch>;
  using Words = typename S::Words;
  using Floats = typename S::Floats;
  static constexpr std::int64_t kLanes = Codes::kLanes, kBlock = Codes::kBlock,
                                kCells = Codes::kCells;

  // The queries of a block of rows: [E / 4][rows] dwords of codes, then [E / 32][rows] scales and
  // starts.
  struct Queries {
    std::int32_t* codes;
    float* scales;
    std::int32_t* starts;
    Queries(float* at, std::int64_t n_rows, std::int64_t e)
        : codes(reinterpret_cast<std::int32_t*>(at)),
          scales(at + n_rows * e / 4),
          starts(reinterpret_cast<std::int32_t*>(scales + n_rows * e / kBlock)) {}
  };

  // Row r of n_rows. `raised`: the offset of the tile's codes, a power of two, or 0.
  static void take_query(const std::byte* q, std::int64_t e, float scale, int raised, Queries to,
                         std::int64_t r, std::int64_t n_rows) {
    for (std::int64_t b = 0; b < e / kBlock; ++b, q += ActivationBlock::kBytes) {
      float d;
      std::int32_t start, codes[kBlock / 4];
      std::memcpy(&d, q + ActivationBlock::kScale, 4);
      std::memcpy(&start, q + ActivationBlock::kStart, 4);
      std::memcpy(codes, q + ActivationBlock::kCodes, sizeof(codes));
      to.scales[b * n_rows + r] = scale * d;
      to.starts[b * n_rows + r] = raised == 0 ? 0 : start / (128 / raised);
      for (int j = 0; j < kBlock / 4; ++j) to.codes[(b * kBlock / 4 + j) * n_rows + r] = codes[j];
    }
  }

  static constexpr int raised(CellsQ8_0<Arch>) { return S::kRaise; }
  static constexpr int raised(CellsQ5_0<Arch>) { return S::kRaise; }
  static constexpr int raised(CellsQ4_0<Arch>) { return S::kRaise == 0 ? 0 : 8; }

  // Codes of one block of 16 cells, with the offset: word j holds elements 4j .. 4j + 3.
  static WEFT_INLINE void store(std::byte* out, int j, Words codes) {
    S::store(out + j * kLanes * 4, codes);
  }
  static WEFT_INLINE void store(std::byte* out, const Bytes<Arch>& b) {
#ifdef __AVX2__
    _mm256_store_si256(reinterpret_cast<__m256i*>(out), b.v);
#else
    b.store(out);
#endif
  }
  static WEFT_INLINE void key_block(CellsQ8_0<Arch>, const std::byte* codes, std::int64_t cell,
                                    std::byte* out) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      Words r[4];
      S::from_rows(
          [&](int i) __attribute__((always_inline)) { return codes + 16 * half + i * cell; }, r);
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j)
        store(out, 4 * half + j, S::kRaise == 0 ? r[j] : r[j] ^ S::all8(S::kRaise));
    }
  }
  static WEFT_INLINE void key_block(CellsQ5_0<Arch>, const std::byte* codes, std::int64_t cell,
                                    std::byte* out) {
    alignas(64) std::byte bytes[kLanes * kBlock];
    for (int i = 0; i < kLanes; ++i)
      store(bytes + i * kBlock, CellsQ5_0<Arch>::codes(codes + i * cell - 2));
    key_block(CellsQ8_0<Arch>(), bytes, kBlock, out);
  }
  static WEFT_INLINE void key_block(CellsQ4_0<Arch>, const std::byte* codes, std::int64_t cell,
                                    std::byte* out) {
    const Words low = S::all8(15), offset = S::all8(-8);
    const auto taken = [&](Words nibbles) __attribute__((always_inline)) {
      return S::kRaise == 0 ? S::add8(nibbles & low, offset) : nibbles & low;
    };
    Words r[4];
    S::from_rows(
        [&](int i) __attribute__((always_inline)) { return codes + i * cell; }, r);
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      store(out, j, taken(r[j]));
      store(out, 4 + j, taken(S::right16(r[j], 4)));
    }
  }

  // [64 / 16 columns][E / 4][16 cells] dwords of codes, then [E / 32][64 cells] scales.
  template <class Cells>
  static void key_codes(const std::byte* k, std::int64_t cell, std::int64_t n, std::int64_t e,
                        float* tile) noexcept {
    auto* out = reinterpret_cast<std::byte*>(tile);
    for (std::int64_t s = 0; s < n; s += kLanes) {
      const std::byte* codes = k + s * cell + 2;
      for (std::int64_t b = 0; b < e / kBlock; ++b, out += kBlock * kLanes)
        key_block(Cells(), codes + b * Cells::kBlockBytes, cell, out);
    }
    Codes::template all_scales<Cells>(k, cell, n, e, tile + kCells * e / 4);
  }

  // Vectors of cells side by side: more for fewer rows, so that there are enough parallel chains.
  static constexpr int columns(int r) {
    return Simd<Arch>::kLanes < 16 || r > 4 ? 1 : r > 2 ? 2 : 4;
  }

  template <int R>
  static __attribute__((noinline)) void scores(const float* tile, float* q_rows, std::int64_t n,
                                               std::int64_t e, float* p, AttentionAhead& ahead) {
    constexpr int C = columns(R);
    const Queries q(q_rows, R, e);
    for (std::int64_t s = 0; s < n; s += C * kLanes) {
      Floats sums[R][C];
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
        for (int c = 0; c < C; ++c) sums[r][c] = S::all(0);
      }
      for (std::int64_t b = 0; b < e / kBlock; ++b) {
        for (int c = 0; c < C; ++c) ahead.fetch();
        Words dots[R][C];
        block_dots<R, C>(tile + s * e / 4, q, b, e, dots);
#pragma GCC unroll 4
        for (int c = 0; c < C; ++c) {
          const Floats k = S::load_floats(tile + kCells * e / 4 + b * kCells + s + c * kLanes);
#pragma GCC unroll 8
          for (int r = 0; r < R; ++r) {
            const Floats scale = k * S::all(q.scales[b * R + r]);
            sums[r][c] = S::fma(S::to_floats(dots[r][c]), scale, sums[r][c]);
          }
        }
      }
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
        for (int c = 0; c < C; ++c) S::store(p + r * kCells + s + c * kLanes, sums[r][c]);
      }
    }
  }

  template <int R, int C>
  static WEFT_INLINE void block_dots(const float* column, const Queries& q, std::int64_t b,
                                     std::int64_t e, Words (&dots)[R][C]) {
    constexpr bool kSigned = S::kRaise == 0;
    typename S::template Sums<true, 127, kSigned, 1, Arch> word;
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) dots[r][c] = S::all32(q.starts[b * R + r]);
    }
    const auto* k = reinterpret_cast<const std::byte*>(column + b * kBlock / 4 * kLanes);
    const std::int32_t* codes = q.codes + b * kBlock / 4 * R;
    for (int j = 0; j < kBlock / 4; ++j, k += kLanes * 4, codes += R) {
      Words keys[C];
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) keys[c] = S::load(k + c * kLanes * e);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        const auto qs = S::shared(codes[r]);
#pragma GCC unroll 4
        for (int c = 0; c < C; ++c) {
          const auto from = [&]() __attribute__((always_inline)) {
            return dots[r][c];
          };
          word.start(from);
          word.add(0, keys[c], qs);
          dots[r][c] = word.total(from);
          S::pin(dots[r][c]);  // or the compiler copies it at every step
        }
      }
    }
  }
};

}  // namespace weft::cpu

#endif
