#pragma once
// A prompt whose keys and values are kept in a file from one run to the next (saved_sequence.h).

#include <cstdint>
#include <string>
#include <vector>

#include "weft/serve/generation.h"

namespace weft {

class PromptCache {
 public:
  // An empty path: no cache, and nothing happens below.
  explicit PromptCache(std::string path = {}, bool read_only = false);

  // Takes from the file what it holds of the beginning of a prompt and can go on from, at least one
  // token less than all of it, and returns how many tokens that are; begin() then goes on from
  // them. 0 for a file that is not there, empty, damaged, or from another model: the last two say
  // so in `warning`. Throws UnsupportedError if the path is a file of another kind, or a saved
  // conversation that keep() would replace; IoError if it cannot be read or will not be writable.
  std::int64_t restore(Generation& generation, std::span<const TokenId> prompt,
                       std::string& warning);
  // Writes what the generation's sequence holds. Nothing if the cache is read-only or the file
  // holds these tokens already. Throws IoError.
  void keep(const Generation& generation);

 private:
  std::string path_;
  bool read_only_;
  std::vector<TokenId> kept_;  // what the file held when it was read
};

}  // namespace weft
