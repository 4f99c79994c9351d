#include "weft/base/checksum.h"

#include <memory>
#include <new>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace weft {
namespace {

XXH3_state_t* state_in(std::byte* bytes) {
  return std::launder(reinterpret_cast<XXH3_state_t*>(bytes));
}
const XXH3_state_t* state_in(const std::byte* bytes) {
  return std::launder(reinterpret_cast<const XXH3_state_t*>(bytes));
}

}  // namespace

Checksum::Checksum() {
  static_assert(sizeof(XXH3_state_t) <= sizeof state_ && alignof(XXH3_state_t) <= 64);
  XXH3_64bits_reset(std::construct_at(reinterpret_cast<XXH3_state_t*>(state_.data())));
}

void Checksum::add(std::span<const std::byte> bytes) {
  XXH3_64bits_update(state_in(state_.data()), bytes.data(), bytes.size());
}

std::uint64_t Checksum::value() const {
  return XXH3_64bits_digest(state_in(state_.data()));
}

std::uint64_t checksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace weft
