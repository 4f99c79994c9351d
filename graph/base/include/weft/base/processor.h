#pragma once
// Instructions of a processor that C++ has no name for. Except for kernels, code that needs them
// calls these functions, so that it does not depend on the processor.

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

}  // namespace weft
