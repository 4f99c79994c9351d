#pragma once
// Scores with integer products. Keys become a tile of dwords with four codes of a cell; lanes are
// cells. With q in Q8A (ops/formats/q8a.h) the products of a block are exact; they are scaled and
// added up block by block.

#include "cpu/kernels/attention_quads.inl.h"
#include "cpu/simd/simd.inl.h"

namespace weft::cpu {

template <class Arch>
struct CodeKeys {
  using Codes = AttentionCodes<Arch>;
  static constexpr std::int64_t kLanes = Codes::kLanes, kBlock = Codes::kBlock,
                                kCells = Codes::kCells;

  // Of a block of rows: [E / 4][rows] dwords of codes, then [E / 32][rows] scales and starts.
  struct Queries {
    std::int32_t* codes;
    float* scales;
    std::int32_t* starts;
    Queries(float* at, std::int64_t n_rows, std::int64_t e)
        : codes(reinterpret_cast<std::int32_t*>(at)),
          scales(at + n_rows * e / 4),
          starts(reinterpret_cast<std::int32_t*>(scales + n_rows * e / kBlock)) {}
  };

  // Row r of n_rows. `raised`: the offset of the tile's codes, a power of two.
  static void take_query(const std::byte* q, std::int64_t e, float scale, int raised, Queries to,
                         std::int64_t r, std::int64_t n_rows) {
    for (std::int64_t b = 0; b < e / kBlock; ++b, q += ActivationBlock::kBytes) {
      float d;
      std::int32_t start, codes[kBlock / 4];
      std::memcpy(&d, q + ActivationBlock::kScale, 4);
      std::memcpy(&start, q + ActivationBlock::kStart, 4);
      std::memcpy(codes, q + ActivationBlock::kCodes, sizeof(codes));
      to.scales[b * n_rows + r] = scale * d;
      to.starts[b * n_rows + r] = start / (128 / raised);
      for (int j = 0; j < kBlock / 4; ++j) to.codes[(b * kBlock / 4 + j) * n_rows + r] = codes[j];
    }
  }

  // r[j] = dword j of the 16 bytes at p and at the same place of the next 15 cells.
  static WEFT_INLINE void dwords(const std::byte* p, std::int64_t cell, __m512i (&r)[4]) {
    typename Simd<Arch>::V v[4];
    KeyQuads<Arch, CellsF32<Arch>>::load(p, cell, 0, v);  // bits, whatever they mean
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) r[j] = _mm512_castps_si512(v[j]);
  }

  static constexpr int raised(CellsQ8_0<Arch>) {
    return 128;
  }
  static constexpr int raised(CellsQ4_0<Arch>) {
    return 8;
  }

  // Codes of one block of 16 cells, with an offset that makes them unsigned: out[j] = elements
  // 4j .. 4j + 3.
  static WEFT_INLINE void key_block(CellsQ8_0<Arch>, const std::byte* codes, std::int64_t cell,
                                    __m512i* out) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      __m512i r[4];
      dwords(codes + 16 * half, cell, r);
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j)
        _mm512_store_si512(out + 4 * half + j, _mm512_xor_si512(r[j], _mm512_set1_epi8(-128)));
    }
  }
  static WEFT_INLINE void key_block(CellsQ4_0<Arch>, const std::byte* codes, std::int64_t cell,
                                    __m512i* out) {
    const __m512i low = _mm512_set1_epi8(15);
    __m512i r[4];
    dwords(codes, cell, r);
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      _mm512_store_si512(out + j, _mm512_and_si512(r[j], low));
      _mm512_store_si512(out + 4 + j, _mm512_and_si512(_mm512_srli_epi16(r[j], 4), low));
    }
  }

  // [64 / 16 columns][E / 4][16 cells] dwords of codes, then [E / 32][64 cells] scales.
  template <class Cells>
  static void key_codes(const std::byte* k, std::int64_t cell, std::int64_t n, std::int64_t e,
                        float* tile) noexcept {
    __m512i* out = reinterpret_cast<__m512i*>(tile);
    for (std::int64_t s = 0; s < n; s += kLanes) {
      const std::byte* codes = k + s * cell + 2;
      for (std::int64_t b = 0; b < e / kBlock; ++b, out += kBlock / 4)
        key_block(Cells(), codes + b * Cells::kBlockBytes, cell, out);
    }
    Codes::template all_scales<Cells>(k, cell, n, e, tile + kCells * e / 4);
  }

  // Vectors of cells side by side: more for fewer rows, so that there are enough parallel chains.
  static constexpr int columns(int r) {
    return r > 4 ? 1 : r > 2 ? 2 : 4;
  }

  template <int R>
  static __attribute__((noinline)) void scores(const float* tile, float* q_rows, std::int64_t n,
                                               std::int64_t e, float* p, AttentionAhead& ahead) {
    constexpr int C = columns(R);
    const Queries q(q_rows, R, e);
    for (std::int64_t s = 0; s < n; s += C * kLanes) {
      __m512 sums[R][C];
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
        for (int c = 0; c < C; ++c) sums[r][c] = _mm512_setzero_ps();
      }
      for (std::int64_t b = 0; b < e / kBlock; ++b) {
        for (int c = 0; c < C; ++c) ahead.fetch();
        __m512i dots[R][C];
        block_dots<R, C>(tile + s * e / 4, q, b, e, dots);
#pragma GCC unroll 4
        for (int c = 0; c < C; ++c) {
          const __m512 k = _mm512_load_ps(tile + kCells * e / 4 + b * kCells + s + c * kLanes);
#pragma GCC unroll 8
          for (int r = 0; r < R; ++r) {
            const __m512 scale = _mm512_mul_ps(k, _mm512_set1_ps(q.scales[b * R + r]));
            sums[r][c] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots[r][c]), scale, sums[r][c]);
          }
        }
      }
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
        for (int c = 0; c < C; ++c) _mm512_store_ps(p + r * kCells + s + c * kLanes, sums[r][c]);
      }
    }
  }

  template <int R, int C>
  static WEFT_INLINE void block_dots(const float* column, const Queries& q, std::int64_t b,
                                     std::int64_t e, __m512i (&dots)[R][C]) {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) dots[r][c] = _mm512_set1_epi32(q.starts[b * R + r]);
    }
    const float* k = column + b * kBlock / 4 * kLanes;
    const std::int32_t* codes = q.codes + b * kBlock / 4 * R;
    for (int j = 0; j < kBlock / 4; ++j, k += kLanes, codes += R) {
      __m512i keys[C];
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) keys[c] = _mm512_load_si512(k + c * kLanes * e / 4);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        const __m512i qs = _mm512_set1_epi32(codes[r]);
#pragma GCC unroll 4
        for (int c = 0; c < C; ++c) {
          dots[r][c] = _mm512_dpbusd_epi32(dots[r][c], keys[c], qs);
          asm("" : "+v"(dots[r][c]));  // or the compiler copies it at every step
        }
      }
    }
  }
};

}  // namespace weft::cpu
