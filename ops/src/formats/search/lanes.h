#pragma once
// Arithmetic on 16 floats at once, for encoders that search: a lane is a group of weights with its
// own scale. Every lane does the same float operations in the same order on every machine, so
// encoders write the same bytes everywhere.
//
// Code that runs on wide vectors must be inlined into run_on_lanes(): WEFT_LANES on every function
// and lambda.

#include <cstdint>

#include "weft/base/processor.h"

#define WEFT_LANES __attribute__((always_inline))

// Vectors are never passed: all is inlined.
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

namespace weft::formats {

inline constexpr int kLanes = 16;
using Floats = float __attribute__((vector_size(64)));
using Ints = std::int32_t __attribute__((vector_size(64)));  // masks: 0 or -1

WEFT_LANES inline Floats all_lanes(float x) {
  return x - Floats{};
}
WEFT_LANES inline Floats min_lanes(const Floats& a, const Floats& b) {
  return a < b ? a : b;
}
WEFT_LANES inline Floats max_lanes(const Floats& a, const Floats& b) {
  return a > b ? a : b;
}
WEFT_LANES inline Floats magnitude(const Floats& a) {
  return a < 0 ? -a : a;
}

// Nearest integer, ties to even. REQUIRES: |x| < 2^22.
WEFT_LANES inline Floats nearest_integer(const Floats& x) {
  constexpr float kShift = 0x1.8p23f;
  return (x + kShift) - kShift;
}

// The largest lane.
WEFT_LANES inline float max_of(const Floats& a) {
  Floats m = a;
  m = max_lanes(
      m, __builtin_shufflevector(m, m, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
  m = max_lanes(
      m, __builtin_shufflevector(m, m, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11));
  m = max_lanes(
      m, __builtin_shufflevector(m, m, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
  m = max_lanes(
      m, __builtin_shufflevector(m, m, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14));
  return m[0];
}

// Nearest integer, halves away from zero, as bytes. REQUIRES: it is within -128..127.
using Int8s = std::int8_t __attribute__((vector_size(16)));
WEFT_LANES inline Int8s rounded_bytes(const Floats& x) {
  const Ints whole = __builtin_convertvector(x, Ints);
  const Floats rest = x - __builtin_convertvector(whole, Floats);
  const Ints up = rest >= 0.5f, down = rest <= -0.5f;
  return __builtin_convertvector(whole - up + down, Int8s);
}

// Calls body() in a function for the widest vectors of this machine. REQUIRES: body's operator() is
// WEFT_LANES.
template <class Body>
void run_on_lanes(Body&& body) {
  run_on_widest_vectors(body);
}

}  // namespace weft::formats
