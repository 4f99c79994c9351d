#pragma once
// Instructions of a processor that C++ has no name for, and queries of the processor's features.
// Except for kernels, code that needs them calls these functions, so that it does not depend on the
// processor. base/src/processor.cpp is the only code that queries the processor.

#include <array>
#include <chrono>
#include <cstdint>

namespace weft {

// A clock that takes some nanoseconds to read and runs at one rate on all cores. Its unit is not
// known: callers measure it.
inline std::int64_t processor_ticks() noexcept {
#if defined(__x86_64__)
  return static_cast<std::int64_t>(__builtin_ia32_rdtsc());
#else
  return std::chrono::steady_clock::now().time_since_epoch().count();
#endif
}

// For loops that wait until another core changes memory: saves energy, and leaves more of the core
// to its other thread.
inline void spin_pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// ---- features

enum class CpuidRegister : std::uint8_t { eax, ebx, ecx, edx };
// Registers that the operating system must save on a context switch, with all narrower ones.
enum class SavedRegisters : std::uint8_t { xmm, ymm, zmm, tile };

// The bit that reports a feature on x86: in the result of the instruction CPUID.
struct CpuidBit {
  std::uint32_t leaf, subleaf;
  CpuidRegister reg;
  std::uint32_t bit;
  SavedRegisters saved;
  friend constexpr bool operator==(const CpuidBit&, const CpuidBit&) = default;
};

// Linux on other processors: the words AT_HWCAP and AT_HWCAP2 of the auxiliary vector.
enum class HwcapWord : std::uint8_t { hwcap, hwcap2 };
struct HwcapBit {
  HwcapWord word;
  std::uint32_t bit;
};

// Whether the processor has the feature and the operating system saves its registers. False if it
// reports features in another way.
bool processor_has(const CpuidBit& where) noexcept;
bool processor_has(const HwcapBit& where) noexcept;

// ---- vectors

// The instruction sets for which code on vectors of the compiler is compiled.
enum class VectorSet : std::uint8_t { any, avx2, avx512 };

// The features that the sets need. cmake/instruction_sets.cmake has the same bits, which a test of
// backends compares.
inline constexpr std::array<CpuidBit, 1> kAvx2Bits = {
    {{7, 0, CpuidRegister::ebx, 5, SavedRegisters::ymm}}};
inline constexpr std::array<CpuidBit, 4> kAvx512Bits = {
    {{7, 0, CpuidRegister::ebx, 16, SavedRegisters::zmm},    // F
     {7, 0, CpuidRegister::ebx, 17, SavedRegisters::zmm},    // DQ
     {7, 0, CpuidRegister::ebx, 30, SavedRegisters::zmm},    // BW
     {7, 0, CpuidRegister::ebx, 31, SavedRegisters::zmm}}};  // VL

// The one for the widest vectors of this machine.
VectorSet widest_vectors() noexcept;

#if defined(__x86_64__)
template <class Body>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] void run_with_avx512(Body& body) {
  body();
}
template <class Body>
[[gnu::target("avx2")]] void run_with_avx2(Body& body) {
  body();
}
#endif

// Calls body() in a function for the widest vectors of this machine. REQUIRES: its operator() and
// all that it calls is always inlined.
template <class Body>
void run_on_widest_vectors(Body&& body) {
#if defined(__x86_64__)
  const VectorSet widest = widest_vectors();
  if (widest == VectorSet::avx512) return run_with_avx512(body);
  if (widest == VectorSet::avx2) return run_with_avx2(body);
#endif
  body();
}

}  // namespace weft
