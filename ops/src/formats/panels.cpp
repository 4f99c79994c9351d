#include "weft/ops/formats/panels.h"

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

namespace weft {
namespace {

constexpr int kNoHalf = -1;

using Order = std::span<const std::uint8_t>;

// Bits of a word at `mask` and those `by` above them change places.
struct Swap {
  std::uint32_t mask = 0;
  int by = 0;

  constexpr std::uint32_t operator()(std::uint32_t word) const {
    const std::uint32_t change = (word >> by ^ word) & mask;
    return word ^ change ^ change << by;
  }
};

constexpr int kNoUnit = -1, kAllUnits = -2;

// Of bits in units, the same in both directions: the two share no bit.
struct Swaps {
  Swap first, second;
  int unit = kNoUnit;

  constexpr bool in(std::int64_t u) const { return unit == kAllUnits || unit == u; }
};

struct Layout {
  DTypeInfo info;  // of the form in panels
  int unit;        // bytes
  int half_at;     // byte of a block, or kNoHalf
  Order order;     // which unit of a block comes where; empty: as they are
  Swaps swaps;
  int half_bytes;

  constexpr int half() const { return half_at == kNoHalf ? 0 : half_bytes; }
};

constexpr Layout layout(std::string_view name, const DTypeInfo& plain, int unit,
                        int half_at = kNoHalf, Order order = {}, Swaps swaps = {},
                        int half_bytes = 2) {
  return {{name, -1, plain.block_elems, plain.block_bytes, kPanelRows, &plain},
          unit,
          half_at,
          order,
          swaps,
          half_bytes};
}

// Scales first, then the three vectors that make the same elements of a half's quarters side by
// side: of Q6_K in file order, memory gave a third of its speed.
constexpr auto kQ6_KOrder = [] {
  std::array<std::uint8_t, 52> order{};
  std::size_t n = 0;
  for (std::uint8_t i = 0; i < 4; ++i) order[n++] = static_cast<std::uint8_t>(48 + i);
  for (std::uint8_t half = 0; half < 2; ++half) {
    for (std::uint8_t i = 0; i < 8; ++i) {
      order[n++] = static_cast<std::uint8_t>(16 * half + i);
      order[n++] = static_cast<std::uint8_t>(16 * half + 8 + i);
      order[n++] = static_cast<std::uint8_t>(32 + 8 * half + i);
    }
  }
  return order;
}();

// d and dmin first.
constexpr auto kQ2_KOrder = [] {
  std::array<std::uint8_t, 21> order{20};
  for (std::uint8_t i = 0; i < 20; ++i) order[1U + i] = i;
  return order;
}();

// `first` units, then units from `high` on in turn with those from `low` on, then all from there.
template <std::size_t kCount>
constexpr std::array<std::uint8_t, kCount> in_turn(std::size_t first, std::size_t n_first,
                                                   std::size_t high, std::size_t low) {
  std::array<std::uint8_t, kCount> order{};
  std::size_t n = 0;
  for (std::size_t i = 0; i < n_first; ++i) order[n++] = static_cast<std::uint8_t>(first + i);
  for (std::size_t i = 0; i < 8; ++i) {
    order[n++] = static_cast<std::uint8_t>(high + i);
    order[n++] = static_cast<std::uint8_t>(low + i);
  }
  for (std::size_t i = low + 8; n < kCount; ++i) order[n++] = static_cast<std::uint8_t>(i);
  return order;
}
constexpr auto kQ3_KOrder = in_turn<27>(24, 3, 0, 8);
constexpr auto kQ5_KOrder = in_turn<44>(0, 4, 4, 12);

constexpr std::array<std::uint8_t, 13> kTQ1_0Order{0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 6, 7};

// Four neighbours lie in one byte; they are to lie at the same bits of four. Pair n of byte b, of
// two bits each, changes places with pair b of byte n.
constexpr Swaps pairs_in(int unit) {
  return {{0x00cc00cc, 6}, {0x0000f0f0, 12}, unit};
}
// Of the five digits of a bit's number the upper two (its byte) change places with the lower two.
constexpr Swaps bits_in(int unit) {
  return {{0x0000cccc, 14}, {0x00aa00aa, 7}, unit};
}

// The one list of forms in panels.
constexpr Layout kLayouts[] = {
    layout("F32_R16", kF32Info, 4),
    layout("F16_R16", kF16Info, 2),
    layout("BF16_R16", kBF16Info, 2),
    layout("Q4_0_R16", kQ4_0Info, 4, 0),
    layout("Q4_1_R16", kQ4_1Info, 4),
    layout("Q5_0_R16", kQ5_0Info, 4, 0, {}, bits_in(0)),
    layout("Q5_1_R16", kQ5_1Info, 4, kNoHalf, {}, bits_in(1)),
    layout("Q8_0_R16", kQ8_0Info, 4, 0),
    layout("Q1_0_R16", kQ1_0Info, 4, 0, {}, bits_in(kAllUnits)),
    layout("Q2_0_R16", kQ2_0Info, 4, 0, {}, pairs_in(kAllUnits)),
    layout("Q2_K_R16", kQ2_KInfo, 4, kNoHalf, kQ2_KOrder),
    layout("Q3_K_R16", kQ3_KInfo, 4, 108, kQ3_KOrder),
    layout("Q4_K_R16", kQ4_KInfo, 4),
    layout("Q5_K_R16", kQ5_KInfo, 4, kNoHalf, kQ5_KOrder),
    layout("Q6_K_R16", kQ6_KInfo, 4, 208, kQ6_KOrder),
    layout("TQ1_0_R16", kTQ1_0Info, 4, 52, kTQ1_0Order),
    layout("TQ2_0_R16", kTQ2_0Info, 4, 64),
    layout("IQ4_NL_R16", kIQ4_NLInfo, 4, 0),
    layout("IQ4_XS_R16", kIQ4_XSInfo, 4),
    layout("MXFP4_R16", kMXFP4Info, 4, 0, {}, {}, 1),
    layout("NVFP4_R16", kNVFP4Info, 4),
};

const Layout* find(DType plain) {
  for (const Layout& l : kLayouts) {
    if (DType(l.info.plain) == plain) return &l;
  }
  return nullptr;
}

// Calls f<size>(bytes from the start of a row in plain form, bytes from the start of the panel for
// row 0, whether bits are swapped) for every unit and half of a row; row r lies r * size further.
template <int kUnit, class F>
void each_unit(const Layout& l, std::int64_t row_bytes, F f) {
  const std::int64_t block = l.info.block_bytes, half = l.half();
  const std::int64_t n_blocks = row_bytes / block, sharing = half == 0 ? 1 : 4 / half;
  std::int64_t to = 0;  // of what comes next in the panel
  for (std::int64_t b = 0; b < n_blocks; ++b) {
    if (half != 0 && b % sharing == 0) {
      for (std::int64_t h = b; h < std::min(b + sharing, n_blocks); ++h, to += half * kPanelRows) {
        const std::int64_t from = h * block + l.half_at;
        half == 1 ? f.template operator()<1>(from, to, false)
                  : f.template operator()<2>(from, to, false);
      }
    }
    const std::int64_t n_units = (block - half) / kUnit;
    for (std::int64_t i = 0; i < n_units; ++i, to += kUnit * kPanelRows) {
      const std::int64_t u = kUnit * (l.order.empty() ? i : l.order[static_cast<std::size_t>(i)]);
      const std::int64_t skip = half != 0 && u >= l.half_at ? half : 0;
      f.template operator()<kUnit>(b * block + u + skip, to, l.swaps.in(u / kUnit));
    }
  }
}

template <class F>
void each_unit(const Layout& l, std::int64_t row_bytes, F f) {
  l.unit == 4 ? each_unit<4>(l, row_bytes, f) : each_unit<2>(l, row_bytes, f);
}

// A unit or half, of a row or of its place in a panel.
template <int kSize>
void copy(const std::byte* from, std::byte* to, const Swaps* swaps) {
  std::uint32_t word = 0;
  std::memcpy(&word, from, kSize);
  if (swaps) word = swaps->second(swaps->first(word));
  std::memcpy(to, &word, kSize);
}

void pack_panel(const Layout& l, const std::byte* rows, std::byte* panel, std::int64_t row_bytes) {
  each_unit(l, row_bytes, [&]<int kSize>(std::int64_t from, std::int64_t to, bool swapped) {
    const Swaps* swaps = swapped ? &l.swaps : nullptr;
    for (std::int64_t r = 0; r < kPanelRows; ++r)
      copy<kSize>(rows + r * row_bytes + from, panel + to + r * kSize, swaps);
  });
}

}  // namespace

DType panels_of(DType plain) {
  const Layout* l = find(plain);
  return l ? DType(&l->info) : DType();
}

void to_panels(DType plain, const std::byte* from, std::byte* to, std::int64_t n_rows,
               std::int64_t row_bytes, std::int64_t first, std::int64_t last) noexcept {
  const Layout& l = *find(plain);
  std::int64_t r = first;
  for (; r + kPanelRows <= last; r += kPanelRows)
    pack_panel(l, from + r * row_bytes, to + r * row_bytes, row_bytes);
  if (last == n_rows) {
    std::memcpy(to + r * row_bytes, from + r * row_bytes,
                static_cast<std::size_t>((n_rows - r) * row_bytes));
  }
}

void row_of_panels(const View& tensor, std::int64_t r, std::byte* row) noexcept {
  const std::int64_t row_bytes = tensor.dtype.bytes(tensor.cols());
  if (!in_panel(r, tensor.rows())) {
    std::memcpy(row, tensor.data + r * row_bytes, static_cast<std::size_t>(row_bytes));
    return;
  }
  const std::byte* panel = tensor.data + r / kPanelRows * kPanelRows * row_bytes;
  const std::int64_t r_in = r % kPanelRows;
  const Layout& l = *find(tensor.dtype.plain());
  each_unit(l, row_bytes, [&]<int kSize>(std::int64_t to, std::int64_t from, bool swapped) {
    copy<kSize>(panel + from + r_in * kSize, row + to, swapped ? &l.swaps : nullptr);
  });
}

}  // namespace weft
