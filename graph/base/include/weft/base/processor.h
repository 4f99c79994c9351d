#pragma once
// What instructions of a processor give that C++ has no name for. Portable code asks here: nowhere
// else but in kernels does a processor's name stand.

#include <chrono>
#include <cstdint>

namespace weft {

// A clock that takes some nanoseconds to read. Its unit is measured by who uses it; it runs at one
// rate on all cores.
inline std::int64_t processor_ticks() noexcept {
#if defined(__x86_64__)
  return static_cast<std::int64_t>(__builtin_ia32_rdtsc());
#else
  return std::chrono::steady_clock::now().time_since_epoch().count();
#endif
}

// To be called between two looks at memory that another core will change: saves energy, and leaves
// the core's other thread more of it.
inline void spin_pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace weft
