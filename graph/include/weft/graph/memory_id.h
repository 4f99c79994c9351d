#pragma once
// Which memory holds a tensor: the host's, or that of one of the devices that a plan uses.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

namespace weft {

// Devices are numbered within a plan (Plan::devices); device_memory() gives their ids.
enum class MemoryId : std::int32_t { host = 0 };

inline constexpr std::size_t kMaxDevices = 31;  // per plan

// The memory of device `index`. REQUIRES: index < kMaxDevices.
constexpr MemoryId device_memory(std::size_t index) {
  return static_cast<MemoryId>(static_cast<std::int32_t>(index) + 1);
}
constexpr bool is_device(MemoryId memory) {
  return memory != MemoryId::host;
}
// REQUIRES: is_device(memory).
constexpr std::size_t device_index(MemoryId memory) {
  return static_cast<std::size_t>(static_cast<std::int32_t>(memory)) - 1;
}

// "host", "device 0".
inline std::string to_string(MemoryId memory) {
  return is_device(memory) ? "device " + std::to_string(device_index(memory)) : "host";
}

// Those that attributes can name: devices have numbers only within a plan.
constexpr std::array<MemoryId, 1> all_values(MemoryId) {
  return {MemoryId::host};
}

// A set of memories.
class MemorySet {
 public:
  void insert(MemoryId memory) { bits_ |= bit(memory); }
  bool contains(MemoryId memory) const { return (bits_ & bit(memory)) != 0; }
  bool empty() const { return bits_ == 0; }
  int size() const { return std::popcount(bits_); }
  bool any_device() const { return bits_ > bit(MemoryId::host); }
  std::uint32_t bits() const { return bits_; }  // bit 0: the host, bit i + 1: device i
  friend bool operator==(const MemorySet&, const MemorySet&) = default;

 private:
  static std::uint32_t bit(MemoryId memory) {
    return 1u << static_cast<std::uint32_t>(static_cast<std::int32_t>(memory));
  }

  std::uint32_t bits_ = 0;
};

}  // namespace weft
