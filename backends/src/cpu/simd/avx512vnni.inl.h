#pragma once
// Traits of AVX-512 with VNNI.

#ifdef __AVX512VNNI__

#include <immintrin.h>
#include <xsimd/xsimd.hpp>

namespace weft::cpu {

template <class Arch, class Codec>
struct Dot<Arch, Codec, Avx512Vnni> : VnniDot<Arch, Codec> {};

}  // namespace weft::cpu

#endif
