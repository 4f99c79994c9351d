#include "cpu/panels.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "weft/ops/formats/bf16.h"
#include "weft/ops/formats/f16.h"
#include "weft/ops/formats/f32.h"
#include "weft/ops/formats/iq4_nl.h"
#include "weft/ops/formats/iq4_xs.h"
#include "weft/ops/formats/mxfp4.h"
#include "weft/ops/formats/nvfp4.h"
#include "weft/ops/formats/q1_0.h"
#include "weft/ops/formats/q2_0.h"
#include "weft/ops/formats/q2_k.h"
#include "weft/ops/formats/q3_k.h"
#include "weft/ops/formats/q4_0.h"
#include "weft/ops/formats/q4_1.h"
#include "weft/ops/formats/q4_k.h"
#include "weft/ops/formats/q5_0.h"
#include "weft/ops/formats/q5_1.h"
#include "weft/ops/formats/q5_k.h"
#include "weft/ops/formats/q6_k.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/ops/formats/tq1_0.h"
#include "weft/ops/formats/tq2_0.h"

#include "cpu/panel_layouts.h"

namespace weft::cpu {
namespace {

struct Layout : PanelLayout {
  DTypeInfo info;  // the form in panels

  constexpr int half() const { return half_at == kNone ? 0 : half_bytes; }
};

constexpr bool in_unit(const Swaps& swaps, std::int64_t u) {
  return swaps.unit == Swaps::kAll || swaps.unit == u;
}
// For one word, or for every word of a vector.
template <class Word>
constexpr Word swapped(Word word, Swap s) {
  const Word change = (word >> s.by ^ word) & s.mask;
  return word ^ change ^ change << s.by;
}
template <class Word>
constexpr Word swapped(Word word, const Swaps& swaps) {
  return swapped(swapped(word, swaps.first), swaps.second);
}

template <class Format>
constexpr Layout layout(std::string_view name, const DTypeInfo& plain) {
  return {kPanelLayout<Format>, {name, -1, plain.block_elems, plain.block_bytes, &kPanels, &plain}};
}

// All formats that have a panel layout.
constexpr Layout kLayouts[] = {
    layout<F32Weights>("F32_R16", kF32Info),
    layout<F16Weights>("F16_R16", kF16Info),
    layout<BF16Weights>("BF16_R16", kBF16Info),
    layout<Q4_0Weights>("Q4_0_R16", kQ4_0Info),
    layout<Q4_1Weights>("Q4_1_R16", kQ4_1Info),
    layout<Q5_0Weights>("Q5_0_R16", kQ5_0Info),
    layout<Q5_1Weights>("Q5_1_R16", kQ5_1Info),
    layout<Q8_0Weights>("Q8_0_R16", kQ8_0Info),
    layout<Q1_0Weights>("Q1_0_R16", kQ1_0Info),
    layout<Q2_0Weights>("Q2_0_R16", kQ2_0Info),
    layout<Q2_KWeights>("Q2_K_R16", kQ2_KInfo),
    layout<Q3_KWeights>("Q3_K_R16", kQ3_KInfo),
    layout<Q4_KWeights>("Q4_K_R16", kQ4_KInfo),
    layout<Q5_KWeights>("Q5_K_R16", kQ5_KInfo),
    layout<Q6_KWeights>("Q6_K_R16", kQ6_KInfo),
    layout<TQ1_0Weights>("TQ1_0_R16", kTQ1_0Info),
    layout<TQ2_0Weights>("TQ2_0_R16", kTQ2_0Info),
    layout<IQ4_NLWeights>("IQ4_NL_R16", kIQ4_NLInfo),
    layout<IQ4_XSWeights>("IQ4_XS_R16", kIQ4_XSInfo),
    layout<MXFP4Weights>("MXFP4_R16", kMXFP4Info),
    layout<NVFP4Weights>("NVFP4_R16", kNVFP4Info),
};

static_assert(std::ranges::all_of(kLayouts, [](const Layout& l) {
  return l.half_at <= 0 || l.half_at + l.half_bytes == l.info.block_bytes;
}));

const Layout* find(DType plain) {
  for (const Layout& l : kLayouts) {
    if (DType(l.info.plain) == plain) return &l;
  }
  return nullptr;
}

// Calls on_half(from, to) for every half of a row, and on_block(from, to) with the start of the
// units of a block: bytes from the start of a row in plain form, bytes from the start of the panel
// for row 0. Row r of a half lies r times its size further in the panel.
template <class Half, class Block>
void each_block(const Layout& l, std::int64_t row_bytes, Half on_half, Block on_block) {
  const std::int64_t block = l.info.block_bytes, half = l.half();
  const std::int64_t n_blocks = row_bytes / block, sharing = half == 0 ? 1 : 4 / half;
  std::int64_t to = 0;  // offset of the next unit in the panel
  for (std::int64_t b = 0; b < n_blocks; ++b) {
    if (half != 0 && b % sharing == 0) {
      for (std::int64_t h = b; h < std::min(b + sharing, n_blocks); ++h, to += half * kPanelRows) {
        const std::int64_t from = h * block + l.half_at;
        half == 1 ? on_half.template operator()<1>(from, to)
                  : on_half.template operator()<2>(from, to);
      }
    }
    on_block(b * block + (l.half_at == 0 ? half : 0), to);
    to += (block - half) * kPanelRows;
  }
}

// Calls f<size>(from, to, whether bits are swapped) likewise for every unit and half of a row.
template <int kUnit, class F>
void each_unit(const Layout& l, std::int64_t row_bytes, F f) {
  const std::int64_t n_units = (l.info.block_bytes - l.half()) / kUnit;
  const auto half = [&]<int kSize>(std::int64_t from, std::int64_t to) {
    f.template operator()<kSize>(from, to, false);
  };
  each_block(l, row_bytes, half, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = 0; i < n_units; ++i) {
      const std::int64_t u = l.n_ordered == 0 ? i : l.order[i];
      f.template operator()<kUnit>(from + u * kUnit, to + i * kUnit * kPanelRows,
                                   in_unit(l.swaps, u));
    }
  });
}

template <class F>
void each_unit(const Layout& l, std::int64_t row_bytes, F f) {
  l.unit == 4 ? each_unit<4>(l, row_bytes, f) : each_unit<2>(l, row_bytes, f);
}

// A unit or half, in a row or in a panel.
template <int kSize>
void copy(const std::byte* from, std::byte* to, const Swaps* swaps) {
  std::uint32_t word = 0;
  std::memcpy(&word, from, kSize);
  if (swaps) word = swapped(word, *swaps);
  std::memcpy(to, &word, kSize);
}

// ---- rows to panels: a vector of units of some rows at a time, as fast as memory

constexpr std::int64_t kVector = 16;
using Words = std::uint32_t __attribute__((vector_size(kVector)));
using Shorts = std::uint16_t __attribute__((vector_size(kVector)));

Words interleave_low(Words a, Words b) {
  return __builtin_shufflevector(a, b, 0, 4, 1, 5);
}
Words interleave_high(Words a, Words b) {
  return __builtin_shufflevector(a, b, 2, 6, 3, 7);
}
Shorts interleave_low(Shorts a, Shorts b) {
  return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}
Shorts interleave_high(Shorts a, Shorts b) {
  return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}

// Transposes the square that the vectors' elements form: every step moves the first digit of an
// element's number to the end.
template <class V, std::size_t kSide>
void transpose(V (&v)[kSide]) {
  for (std::size_t step = 1; step < kSide; step *= 2) {
    V next[kSide];
    for (std::size_t i = 0; i < kSide / 2; ++i) {
      next[2 * i] = interleave_low(v[i], v[i + kSide / 2]);
      next[2 * i + 1] = interleave_high(v[i], v[i + kSide / 2]);
    }
    std::copy_n(next, kSide, v);
  }
}

template <class V>
class Packer {
 public:
  Packer(const Layout& l, std::int64_t row_bytes) : l_(l), row_bytes_(row_bytes) {}

  // Packs one panel. Processors do not prefetch its 16 streams well, so this prefetches the rows of
  // the next panel in order.
  void pack(const std::byte* rows, std::byte* panel, const std::byte* next) const {
    // If units keep their order, a whole row can be treated as one block.
    if (l_.half() == 0 && l_.n_ordered == 0 && l_.swaps.unit == Swaps::kNone)
      return pack_block<false>(rows, panel, row_bytes_, next);
    const auto half = [&]<int kSize>(std::int64_t from, std::int64_t to) {
      for (std::int64_t r = 0; r < kPanelRows; ++r)
        copy<kSize>(rows + r * row_bytes_ + from, panel + to + r * kSize, nullptr);
    };
    const std::int64_t n_bytes = l_.info.block_bytes - l_.half();
    each_block(l_, row_bytes_, half, [&](std::int64_t from, std::int64_t to) {
      l_.n_ordered == 0 ? pack_block<false>(rows + from, panel + to, n_bytes, next + to)
                        : pack_block<true>(rows + from, panel + to, n_bytes, next + to);
    });
  }

 private:
  static constexpr std::int64_t kUnit = sizeof(V{}[0]), kSide = kVector / kUnit;

  // `n_bytes` of units in each row.
  template <bool kOrdered>
  void pack_block(const std::byte* rows, std::byte* to, std::int64_t n_bytes,
                  const std::byte* next) const {
    const std::int64_t stride = row_bytes_;  // locals: writing bytes might change members
    const Swaps swaps = l_.swaps;
    const std::uint8_t* const places = l_.place;
    const auto place = [&](std::int64_t u) {
      return (kOrdered ? places[u] : u) * kUnit * kPanelRows;
    };
    std::int64_t u = 0;
    for (; (u + kSide) * kUnit <= n_bytes; u += kSide) {
      for (std::int64_t r = 0; r < kPanelRows; r += kSide) {
        for (std::int64_t i = 0; i < kSide * kVector; i += 64, next += 64)
          __builtin_prefetch(next, 0, 2);
        V v[kSide];
        for (std::int64_t i = 0; i < kSide; ++i)
          std::memcpy(&v[i], rows + (r + i) * stride + u * kUnit, sizeof v[i]);
        transpose(v);
        for (std::int64_t i = 0; i < kSide; ++i) {
          if constexpr (kUnit == 4) {
            if (in_unit(swaps, u + i)) v[i] = swapped(v[i], swaps);
          }
          std::memcpy(to + place(u + i) + r * kUnit, &v[i], sizeof v[i]);
        }
      }
    }
    for (; u * kUnit < n_bytes; ++u) {
      const Swaps* const changes = in_unit(swaps, u) ? &swaps : nullptr;
      for (std::int64_t r = 0; r < kPanelRows; ++r)
        copy<kUnit>(rows + r * stride + u * kUnit, to + place(u) + r * kUnit, changes);
    }
  }

  const Layout& l_;
  std::int64_t row_bytes_;
};

template <class V>
std::int64_t pack_panels(const Layout& l, const std::byte* from, std::byte* to,
                         std::int64_t row_bytes, std::int64_t first, std::int64_t last) {
  const Packer<V> packer(l, row_bytes);
  std::int64_t r = first;
  for (; r + kPanelRows <= last; r += kPanelRows) {
    const std::int64_t next = r + 2 * kPanelRows <= last ? r + kPanelRows : r;
    packer.pack(from + r * row_bytes, to + r * row_bytes, from + next * row_bytes);
  }
  return r;
}

// As RowLayout::pack.
void pack_rows(DType type, const std::byte* from, std::byte* to, std::int64_t n_rows,
               std::int64_t row_bytes, std::int64_t first, std::int64_t last) noexcept {
  const Layout& l = *find(type.plain());
  const std::int64_t r = l.unit == 4 ? pack_panels<Words>(l, from, to, row_bytes, first, last)
                                     : pack_panels<Shorts>(l, from, to, row_bytes, first, last);
  if (last == n_rows) {
    std::memcpy(to + r * row_bytes, from + r * row_bytes,
                static_cast<std::size_t>((n_rows - r) * row_bytes));
  }
}

// Row `r` of a matrix of `n_rows` rows.
void read_matrix_row(const View& tensor, std::int64_t n_rows, std::int64_t r, std::byte* row) {
  const std::int64_t row_bytes = tensor.dtype.bytes(tensor.dim(-1));
  if (!in_panel(r, n_rows)) {
    std::memcpy(row, tensor.data + r * row_bytes, static_cast<std::size_t>(row_bytes));
    return;
  }
  const std::byte* panel = tensor.data + r / kPanelRows * kPanelRows * row_bytes;
  const std::int64_t r_in = r % kPanelRows;
  const Layout& l = *find(tensor.dtype.plain());
  each_unit(l, row_bytes, [&]<int kSize>(std::int64_t to, std::int64_t from, bool exchanged) {
    copy<kSize>(panel + from + r_in * kSize, row + to, exchanged ? &l.swaps : nullptr);
  });
}

// As RowLayout::read_row.
void read_row(const View& tensor, std::int64_t r, std::byte* row) noexcept {
  const std::int64_t n = tensor.cols() / tensor.dim(-1);  // rows of a matrix [N, K]; else 1
  const std::int64_t row_bytes = tensor.dtype.bytes(tensor.dim(-1));
  for (std::int64_t i = 0; i < n; ++i)
    read_matrix_row(tensor, tensor.rows() * n, r * n + i, row + i * row_bytes);
}

}  // namespace

DType panels_of(DType plain) {
  const Layout* l = find(plain);
  return l ? DType(&l->info) : DType();
}

std::span<const DType> panel_types() {
  static const auto types = [] {
    std::array<DType, std::size(kLayouts)> all;
    std::ranges::transform(kLayouts, all.begin(), [](const Layout& l) { return DType(&l.info); });
    return all;
  }();
  return types;
}

constinit const RowLayout kPanels{.granule = kPanelRows, .pack = pack_rows, .read_row = read_row};

}  // namespace weft::cpu
