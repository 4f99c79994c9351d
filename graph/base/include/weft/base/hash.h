#pragma once
// FNV-1a: a hash that is the same in every build and on every machine, for names and plans. Anybody
// can make two inputs with the same hash, so nothing may depend on their being different.
// Source: https://datatracker.ietf.org/doc/html/draft-eastlake-fnv

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace weft {

template <class T, T kStart, T kPrime>
class Fnv1a {
 public:
  constexpr void add(std::string_view bytes) {
    for (const char c : bytes) value_ = (value_ ^ static_cast<unsigned char>(c)) * kPrime;
  }
  void add(std::span<const std::byte> bytes) {
    add({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  constexpr T value() const { return value_; }

 private:
  T value_ = kStart;
};

using Fnv1a32 = Fnv1a<std::uint32_t, 0x811c9dc5, 0x01000193>;
using Fnv1a64 = Fnv1a<std::uint64_t, 0xcbf29ce484222325, 0x100000001b3>;

}  // namespace weft
