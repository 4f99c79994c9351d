#pragma once
// Limits of GGUF files that the reader checks and the writer keeps.

#include <cstddef>
#include <cstdint>

namespace weft::gguf {

inline constexpr std::uint32_t kWrittenVersion = 3;
inline constexpr std::size_t kMaxKeyBytes = 65535;
inline constexpr std::size_t kMaxTensorName = 64;
inline constexpr std::uint64_t kDefaultAlignment = 32;
inline constexpr std::uint64_t kMinAlignment = 8, kMaxAlignment = std::uint64_t{2} << 20;

}  // namespace weft::gguf
