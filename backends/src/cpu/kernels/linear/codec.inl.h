#pragma once
// How kernels read a weight format. Each format specializes Codec once, for every instruction set.
//
// Every format has
//   decode(row, begin, end, out)  elements [begin, end) of a row as floats
//   kIsF32, kHasIntegerRow        needs no decoding; can be multiplied by Q8A
//   kIsDecoded                    none of the following: the caller passes a decoder
// A format of scalars has
//   kBytes                        bytes per element
//   load(p) -> V                  one element for each lane of a vector
//   part(words, i) -> Floats      element i of those that 16 words hold; from AVX2 on
// A format of blocks whose codes index floats has
//   kBlockElems, kBlockBytes      a multiple of 16, and its bytes
//   values(block, i) -> V         the elements of a block from i on, a multiple of the lanes
// Every other format of blocks has
//   kBlockElems, kBlockBytes      a multiple of 32, and its bytes
//   kSigned, kOffset              how to read its codes (Dot in simd/sse2.inl.h)
//   kTwoScales                    a scale for every 16 codes instead of every 32
//   kHasMins                      a minimum for every scale: w = scale * code - min; at least
//                                 eight, padded with 0
//   kGroups, kParts               groups differ by address, their parts of 32 codes by bit position
//   header(block) -> Header       scales (and mins) as floats, in the order of the elements
//   codes<kPart>(block, group)    32 codes

#include "cpu/kernels/linear/linear_kernel.h"
#include "cpu/simd/simd.inl.h"
#include "cpu/weight_tags.h"

namespace weft::cpu {

template <class Arch, class Format>
struct Codec;

// f.template operator()<0>(), <1>(), ...
template <class Arch, int kCount, int kIndex = 0>
struct Unroll {
  template <class F>
  static WEFT_INLINE void each(F&& f) {
    if constexpr (kIndex < kCount) {
      f.template operator()<kIndex>();
      Unroll<Arch, kCount, kIndex + 1>::each(f);
    }
  }
};

// Calls f.template operator()<T>(first) for [0, n), in as few tiles of T <= kMaxTile elements as
// possible, with nearly equal T.
template <class Arch, int kMaxTile>
struct Tiles {
  template <class F>
  static WEFT_INLINE void each(std::int64_t n, F&& f) {
    const std::int64_t n_tiles = (n + kMaxTile - 1) / kMaxTile;
    std::int64_t done = 0;
    for (std::int64_t i = 1; i <= n_tiles; ++i) {
      const std::int64_t end = n * i / n_tiles;
      one<kMaxTile>(end - done, done, f);
      done = end;
    }
  }
  template <int T, class F>
  static WEFT_INLINE void one(std::int64_t height, std::int64_t first, F& f) {
    if constexpr (T > 1) {
      if (height < T) return one<T - 1>(height, first, f);
    }
    f.template operator()<T>(first);
  }
};

struct ScalarCodec {
  static constexpr bool kIsF32 = false, kHasIntegerRow = false, kIsDecoded = false;
  static constexpr bool kIsTable = false;
};
struct TableCodec : ScalarCodec {
  static constexpr bool kIsTable = true;
};
struct BlockCodec {
  static constexpr bool kIsF32 = false, kHasIntegerRow = true, kIsDecoded = false;
  static constexpr bool kIsTable = false;
  static constexpr bool kSigned = false, kTwoScales = false, kHasMins = false;
  static constexpr int kOffset = 0, kGroups = 1, kParts = 1;
};

template <class Arch, class C>
struct Decode {
  using V = typename Simd<Arch>::V;
  static constexpr int kLanes = Simd<Arch>::kLanes;

  // Elements [begin, end) of a row, whole blocks.
  static WEFT_INLINE void blocks(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    for (std::int64_t i = begin; i < end; i += C::kBlockElems, out += C::kBlockElems)
      block(row + i / C::kBlockElems * C::kBlockBytes, out);
  }
  static WEFT_INLINE void block(const std::byte* in, float* out) {
    const auto header = C::header(in);
    for (int g = 0; g < C::kGroups; ++g) {
      Unroll<Arch, C::kParts>::each([&]<int kPart>() __attribute__((always_inline)) {
        const int sub = g * C::kParts + kPart;
        auto codes = C::template codes<kPart>(in, g);
        if constexpr (C::kOffset != 0) codes = codes.minus(C::kOffset);
        V w[32 / kLanes];
        codes.to_floats(w);
#pragma GCC unroll 8
        for (int i = 0; i < 32 / kLanes; ++i) {
          const int scale = C::kTwoScales ? 2 * sub + i * kLanes / 16 : sub;
          V y = w[i] * V(header.scales[scale]);
          if constexpr (C::kHasMins) y = y - V(header.mins()[scale]);
          y.store_unaligned(out + sub * 32 + i * kLanes);
        }
      });
    }
  }

  static WEFT_INLINE void scalars(const std::byte* row, std::int64_t begin, std::int64_t end,
                                  float* out) {
    const std::byte* in = row + begin * C::kBytes;
    const std::int64_t n = end - begin;
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) C::load(in + i * C::kBytes).store_unaligned(out + i);
    if (i < n) Part<Arch>::store(load_part(in + i * C::kBytes, n - i), out + i, n - i);
  }
  // The first n < kLanes scalars, followed by zeros.
  static WEFT_INLINE V load_part(const std::byte* in, std::int64_t n) {
    alignas(64) std::byte part[kLanes * C::kBytes] = {};
    std::memcpy(part, in, static_cast<std::size_t>(n * C::kBytes));
    return C::load(part);
  }
};

// How kernels read a format in panels. Each format that has an integer row specializes it beside
// its Codec. For a block of 16 rows:
//   kSubs, kUnits    sub-blocks of 32 elements, vectors of units
//   kHasHalves       besides units, of kHalfBytes
//   kScales          scales per sub-block: 1, or 2 for 16 elements each
//   kHasMins         a minimum for every scale
//   kOffset          power of two, to be subtracted from codes; 0: none. 128: codes are signed, and
//                    have an offset of Sixteen::kRaise
//   kMaxCode         max magnitude of a code
//   kGroups, kParts  as in Codec: sub-block = group * kParts + part
//   header(block, halves, scales, mins)   as floats, both [sub][kScales]
//   codes(block, group, i, out)           elements 4i .. 4i + 3 of the group's sub-blocks
template <class Arch, class Format>
struct PanelCodec {
  static constexpr bool kExists = false;
};

#ifdef WEFT_SIXTEEN

template <class Arch>
struct PanelCodecBase {
  using S = Sixteen<Arch>;
  using Words = typename S::Words;
  using Floats = typename S::Floats;

  static constexpr bool kExists = true, kHasMins = false, kHasHalves = true;
  static constexpr int kHalfBytes = 2, kScales = 1, kOffset = 0, kGroups = 1, kParts = 1;
  static constexpr bool kOneToken = false;  // C::one_token(units, x, dots) of a whole block

  // For a format whose halves are its only scales.
  static WEFT_INLINE void header(const std::byte*, const std::byte* halves, Floats* scales,
                                 Floats*) {
    *scales = S::load_f16(halves);
  }
  // Unit i of 16 rows, the `which`-th two bits or nibbles of every byte.
  static WEFT_INLINE Words unit(const std::byte* block, int i) { return S::load(block + 64 * i); }
  static WEFT_INLINE Words pairs(Words bytes, int which) {
    return S::right16(bytes, 2 * which) & S::all8(3);
  }
  static WEFT_INLINE Words nibbles(Words bytes, int which) {
    return (which == 0 ? bytes : S::right16(bytes, 4)) & S::all8(15);
  }
  // The halves of a unit, as its low or high two bytes.
  static WEFT_INLINE Floats low_halves(Words unit) { return S::low_halves(unit); }
  static WEFT_INLINE Floats high_halves(Words unit) { return S::low_halves(S::right32(unit, 16)); }
  // Byte b of every word.
  static WEFT_INLINE Words byte(Words words, int b) {
    return b == 3 ? S::right32(words, 24) : S::right32(words, 8 * b) & S::all32(0xff);
  }
  // The bit of elements 4i .. 4i + 3 in the bytes of a unit of one bit per element
  // (panel_layouts.h).
  static constexpr int bit_of(int i) { return 4 * (i % 2) + i / 2; }
  // Moves bits up, or down if `up` is negative.
  static WEFT_INLINE Words moved(Words bits, int up) {
    return up > 0 ? S::left16(bits, up) : S::right16(bits, -up);
  }
  static WEFT_INLINE Words with_fifth(Words codes, Words bits, int i) {
    return S::or_masked(codes, moved(bits, 4 - bit_of(i)), S::all8(0x10));
  }
};
#endif

// Prefetches weights in file order while the previous rows are multiplied: those of the next tile
// of rows as one stream. The processor's prefetchers lose the rows of a tile at the end of every
// page and of every row. A tile of up to kNear bytes goes into L1; a longer one would evict data
// that is still needed there, and goes into L2.
template <class Arch>
struct Ahead {
  static constexpr std::int64_t kNear = 8 * 1024;
  const std::byte* at;
  bool near;

  // For a tile of n_rows rows from c on and tokens from t on. Only the first tokens do not find
  // their weights in a cache.
  WEFT_INLINE Ahead(const LinearArgs& a, std::int64_t t, std::int64_t c, int n_rows)
      : at(t == a.row0 && c + n_rows < a.col1 ? a.w + (c + n_rows) * a.w_stride : nullptr),
        near(n_rows * a.w_stride <= kNear) {}
  // The address `bytes` bytes after the start of the 16 rows that follow those of column c; null
  // if there are none.
  static WEFT_INLINE const std::byte* next_rows(const LinearArgs& a, std::int64_t c,
                                                std::int64_t bytes) {
    return c + 32 > a.col1 ? nullptr : a.w + (c + 16) * a.w_stride + bytes;
  }
  template <int kBytes>
  WEFT_INLINE void next() {
    if (!at) return;
    near ? prefetch<kBytes, 3>() : prefetch<kBytes, 2>();
    at += kBytes;
  }
  template <int kBytes, int kLocality>
  WEFT_INLINE void prefetch() {
#pragma GCC unroll 16
    for (int i = 0; i < kBytes; i += 64) __builtin_prefetch(at + i, 0, kLocality);
  }
};

// The end of every projection: one sum per output element.
template <class Arch>
struct Epilogue {
  static WEFT_INLINE void store(const LinearArgs& a, std::int64_t t, std::int64_t c, float sum) {
    if (a.bias) sum += a.bias[c];
    if (a.residual) sum += reinterpret_cast<const float*>(a.residual + t * a.residual_stride)[c];
    reinterpret_cast<float*>(a.y + t * a.y_stride)[c - a.y_col] = sum;
  }
  // Sums of columns c .. c + 15; those outside [col0, col1) are ignored.
  static WEFT_INLINE void store16(const LinearArgs& a, std::int64_t t, std::int64_t c,
                                  const float* sums) {
    using V = typename Simd<Arch>::V;
    constexpr int kLanes = Simd<Arch>::kLanes;
    if (c < a.col0 || c + 16 > a.col1) {
      for (std::int64_t i = 0; i < 16; ++i) {
        if (c + i >= a.col0 && c + i < a.col1) store(a, t, c + i, sums[i]);
      }
      return;
    }
    const auto* residual = reinterpret_cast<const float*>(a.residual + t * a.residual_stride) + c;
    float* y = reinterpret_cast<float*>(a.y + t * a.y_stride) + (c - a.y_col);
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += kLanes) {
      V sum = V::load_unaligned(sums + i);
      if (a.bias) sum = sum + V::load_unaligned(a.bias + c + i);
      if (a.residual) sum = sum + V::load_unaligned(residual + i);
      sum.store_unaligned(y + i);
    }
  }
};

}  // namespace weft::cpu
