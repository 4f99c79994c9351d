#pragma once
// Keeps the memory of a prompt in a file from one run to the next (saved_sequence.h).

#include <cstdint>
#include <string>
#include <vector>

#include "weft/serve/generation.h"

namespace weft {

class PromptCache {
 public:
  // With an empty path there is no cache, and all functions do nothing.
  explicit PromptCache(std::string path = {}, bool read_only = false);

  // Restores the longest prefix of the prompt that the file has and the sequence can continue from,
  // but not the prompt's last token. Returns its number of tokens; begin() then reuses them.
  // Returns 0 if the file is missing, empty, damaged, or from another model; in the last two cases
  // sets `warning`. Throws UnsupportedError if the file is of another kind, or a saved conversation
  // that keep() would replace; IoError if it cannot be read or would not be writable.
  std::int64_t restore(Generation& generation, std::span<const TokenId> prompt,
                       std::string& warning);
  // Writes the generation's sequence to the file, unless the cache is read-only, the file already
  // has these tokens, or they mix scales of LoRAs (Session::mixes_lora_scales). Throws IoError.
  void keep(Generation& generation);

 private:
  std::string path_;
  bool read_only_;
  std::vector<TokenId> in_file_;  // when it was read; empty: nothing that can be used
};

}  // namespace weft
