#include "weft/base/keyed_hash.h"

#include <array>
#include <random>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace weft {
namespace {

struct Secret {
  Secret() {
    std::random_device random;
    for (std::uint32_t& word : words) word = random();
  }
  std::array<std::uint32_t, XXH_SECRET_DEFAULT_SIZE / 4> words;
};

}  // namespace

std::uint64_t keyed_hash(std::string_view bytes) {
  static const Secret secret;
  return XXH3_64bits_withSecret(bytes.data(), bytes.size(), secret.words.data(),
                                sizeof secret.words);
}

}  // namespace weft
