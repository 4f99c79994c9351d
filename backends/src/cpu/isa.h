#pragma once
// The instruction sets that kernels are compiled for, and the choice among them. The flags of each
// stand in cmake/isa.cmake.

#include <cstdint>
#include <string_view>

namespace weft::cpu {

enum class Isa : std::uint8_t {
  sse2,
  avx2,
  avx512,
  avx512vnni
};  // each runs wherever a later one does
inline constexpr Isa kAllIsas[] = {Isa::sse2, Isa::avx2, Isa::avx512, Isa::avx512vnni};

// Kernel templates take one of these and carry it in their symbols.
struct Sse2 {};        // what every x86-64 has
struct Avx2 {};        // with FMA and F16C
struct Avx512 {};      // F, CD, DQ, BW, VL
struct Avx512Vnni {};  // and VNNI

std::string_view to_string(Isa isa);   // "avx512vnni"
std::string_view describe(Isa isa);    // "AVX-512 with VNNI"
Isa parse_isa(std::string_view name);  // throws ValueError listing the names
bool machine_has(Isa isa);             // the processor and the operating system

// The best that `has` grants, or the one named by `forced` unless that is null or empty. Throws
// ValueError where the name is unknown, UnsupportedError where the machine lacks it.
Isa choose_isa(const char* forced, bool (*has)(Isa) = machine_has);

}  // namespace weft::cpu
