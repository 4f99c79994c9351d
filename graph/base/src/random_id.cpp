#include "weft/base/random_id.h"

#include <cstdint>
#include <random>

namespace weft {

std::string random_id(std::string_view prefix, int n) {
  static constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";
  // Not a seeded engine, because some of the things that have such ids are protected by them.
  thread_local std::random_device random;
  std::string id(prefix);
  std::uint32_t bits = 0;
  for (int i = 0; i < n; ++i, bits /= kDigits.size()) {
    if (i % 4 == 0) bits = random();
    id += kDigits[bits % kDigits.size()];
  }
  return id;
}

}  // namespace weft
