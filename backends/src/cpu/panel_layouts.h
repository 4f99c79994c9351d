#pragma once
// How the formats are laid out in panels (cpu/panels.h): data, for the code that packs and reads
// tensors and for kernels that pack the rows they read. Kernels include this: no function may leave
// a symbol (cpu/simd/primary.inl.h).

#include <cstddef>
#include <cstdint>

#include "cpu/weight_tags.h"

namespace weft::cpu {

// Exchanges the bits of a word at `mask` with those `by` positions above them.
struct Swap {
  std::uint32_t mask = 0;
  int by = 0;
};

// In one unit of a block, or in all. The two share no bits, so exchanging them again undoes it.
struct Swaps {
  static constexpr int kNone = -1, kAll = -2;

  int unit = kNone;
  Swap first = {}, second = {};
};

struct PanelLayout {
  static constexpr int kMaxUnits = 64, kNone = -1;

  int unit = 4;                         // bytes
  int half_at = kNone, half_bytes = 2;  // byte of a block where the half begins; size
  int n_ordered = 0;                    // units of a block that change their order, or 0
  std::uint8_t order[kMaxUnits] = {};   // by place: the unit of a block there
  std::uint8_t place[kMaxUnits] = {};   // by unit of a block: its place; the inverse
  Swaps swaps = {};

  consteval PanelLayout with_half(int at, int n_bytes = 2) const {
    PanelLayout l = *this;
    l.half_at = at;
    l.half_bytes = n_bytes;
    return l;
  }
  template <std::size_t kCount>
  consteval PanelLayout with_order(const std::uint8_t (&units)[kCount]) const {
    PanelLayout l = *this;
    l.n_ordered = kCount;
    for (std::size_t i = 0; i < kCount; ++i) {
      l.order[i] = units[i];
      l.place[units[i]] = static_cast<std::uint8_t>(i);
    }
    return l;
  }
  // Four neighbours share one byte; moves them to the same bits of four bytes. Exchanges pair n
  // (two bits) of byte b with pair b of byte n.
  consteval PanelLayout with_pairs(int in_unit) const {
    PanelLayout l = *this;
    l.swaps = {in_unit, {0x00cc00cc, 6}, {0x0000f0f0, 12}};
    return l;
  }
  // The same for single bits: exchanges the upper two of the five digits of a bit's number (its
  // byte) with the lower two.
  consteval PanelLayout with_bits(int in_unit) const {
    PanelLayout l = *this;
    l.swaps = {in_unit, {0x0000cccc, 14}, {0x00aa00aa, 7}};
    return l;
  }
};

// Units of a block: `n_first` from `first` on, then 8 from `high` on in turn with 8 from `low` on,
// then all that follow those.
template <std::size_t kCount>
consteval PanelLayout in_turn(int first, int n_first, int high, int low) {
  std::uint8_t order[kCount] = {};
  std::size_t n = 0;
  for (int i = 0; i < n_first; ++i) order[n++] = static_cast<std::uint8_t>(first + i);
  for (int i = 0; i < 8; ++i) {
    order[n++] = static_cast<std::uint8_t>(high + i);
    order[n++] = static_cast<std::uint8_t>(low + i);
  }
  for (int i = low + 8; n < kCount; ++i) order[n++] = static_cast<std::uint8_t>(i);
  return PanelLayout{}.with_order(order);
}

// Scales first, then side by side the three vectors that hold the same elements of a half's
// quarters: with Q6_K in file order, memory reached a third of its speed.
consteval PanelLayout q6_k_layout() {
  std::uint8_t order[52] = {};
  int n = 0;
  for (int i = 0; i < 4; ++i) order[n++] = static_cast<std::uint8_t>(48 + i);
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < 8; ++i) {
      order[n++] = static_cast<std::uint8_t>(16 * half + i);
      order[n++] = static_cast<std::uint8_t>(16 * half + 8 + i);
      order[n++] = static_cast<std::uint8_t>(32 + 8 * half + i);
    }
  }
  return PanelLayout{}.with_order(order);
}
// d and dmin first.
consteval PanelLayout q2_k_layout() {
  std::uint8_t order[21] = {20};
  for (int i = 0; i < 20; ++i) order[1 + i] = static_cast<std::uint8_t>(i);
  return PanelLayout{}.with_order(order);
}
consteval PanelLayout tq1_0_layout() {
  return PanelLayout{}.with_order({0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 6, 7}).with_half(52);
}

// The layouts of the formats that have panels; others have no units.
template <class Format>
inline constexpr PanelLayout kPanelLayout{.unit = 0};

template <>
inline constexpr PanelLayout kPanelLayout<F32Weights>{.unit = 4};
template <>
inline constexpr PanelLayout kPanelLayout<F16Weights>{.unit = 2};
template <>
inline constexpr PanelLayout kPanelLayout<BF16Weights>{.unit = 2};
template <>
inline constexpr PanelLayout kPanelLayout<Q4_0Weights>{.half_at = 0};
template <>
inline constexpr PanelLayout kPanelLayout<Q4_1Weights>{};
template <>
inline constexpr PanelLayout kPanelLayout<Q5_0Weights> = PanelLayout{}.with_half(0).with_bits(0);
template <>
inline constexpr PanelLayout kPanelLayout<Q5_1Weights> = PanelLayout{}.with_bits(1);
template <>
inline constexpr PanelLayout kPanelLayout<Q8_0Weights>{.half_at = 0};
template <>
inline constexpr PanelLayout kPanelLayout<Q1_0Weights> =
    PanelLayout{}.with_half(0).with_bits(Swaps::kAll);
template <>
inline constexpr PanelLayout kPanelLayout<Q2_0Weights> =
    PanelLayout{}.with_half(0).with_pairs(Swaps::kAll);
template <>
inline constexpr PanelLayout kPanelLayout<Q2_KWeights> = q2_k_layout();
template <>
inline constexpr PanelLayout kPanelLayout<Q3_KWeights> = in_turn<27>(24, 3, 0, 8).with_half(108);
template <>
inline constexpr PanelLayout kPanelLayout<Q4_KWeights>{};
template <>
inline constexpr PanelLayout kPanelLayout<Q5_KWeights> = in_turn<44>(0, 4, 4, 12);
template <>
inline constexpr PanelLayout kPanelLayout<Q6_KWeights> = q6_k_layout().with_half(208);
template <>
inline constexpr PanelLayout kPanelLayout<TQ1_0Weights> = tq1_0_layout();
template <>
inline constexpr PanelLayout kPanelLayout<TQ2_0Weights>{.half_at = 64};
template <>
inline constexpr PanelLayout kPanelLayout<IQ4_NLWeights>{.half_at = 0};
template <>
inline constexpr PanelLayout kPanelLayout<IQ4_XSWeights>{};
template <>
inline constexpr PanelLayout kPanelLayout<MXFP4Weights>{.half_at = 0, .half_bytes = 1};
template <>
inline constexpr PanelLayout kPanelLayout<NVFP4Weights>{};

}  // namespace weft::cpu
