#pragma once
// Arithmetic on 16 floats at once, for encoders that search: a lane is a group of weights with a
// scale of its own. Every lane does the same float operations in the same order whatever the
// machine, so encoders write the same bytes everywhere.
//
// Code that runs on wide vectors must be inlined into run_on_lanes(): WEFT_LANES on every function
// and lambda.

#include <cstdint>

#define WEFT_LANES __attribute__((always_inline))

// Vectors are never passed: all is inlined.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

namespace weft::formats {

inline constexpr int kLanes = 16;
using Floats = float __attribute__((vector_size(64)));
using Ints = std::int32_t __attribute__((vector_size(64)));  // masks: 0 or -1

WEFT_LANES inline Floats all_lanes(float x) {
  return x - Floats{};
}
WEFT_LANES inline Floats least(const Floats& a, const Floats& b) {
  return a < b ? a : b;
}
WEFT_LANES inline Floats greatest(const Floats& a, const Floats& b) {
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

#if defined(__x86_64__)
template <class Body>
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))) void run_with_avx512(Body& body) {
  body();
}
template <class Body>
__attribute__((target("avx2"))) void run_with_avx2(Body& body) {
  body();
}
#endif
template <class Body>
void run_with_any(Body& body) {
  body();
}

// Calls body() in a function for the widest vectors of this machine. REQUIRES: body's operator() is
// WEFT_LANES.
template <class Body>
void run_on_lanes(Body&& body) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return run_with_avx512(body);
  if (__builtin_cpu_supports("avx2")) return run_with_avx2(body);
#endif
  run_with_any(body);
}

}  // namespace weft::formats
