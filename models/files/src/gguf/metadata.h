#pragma once
// Metadata entries of GGUF files.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/files/checkpoint.h"
#include "weft/files/cursor.h"

namespace weft::gguf {

// Limits the memory of a file's decoded header. Arrays of bytes grow eightfold when decoded, and
// empty arrays more: without a limit, a large file could make the reader allocate many times its
// size. Vocabularies of 256k tokens with merges need about 15 MiB.
class DecodeBudget {
 public:
  static constexpr std::uint64_t kLimit = std::uint64_t{256} << 20;
  // REQUIRES: `count` was checked to be below the file's size.
  void charge(const Cursor& cursor, std::uint64_t count, std::uint64_t bytes_each);

 private:
  std::uint64_t used_ = 0;
};

// `count` entries with distinct keys.
std::vector<MetaEntry> parse_metadata(Cursor& cursor, std::uint64_t count, DecodeBudget& budget);

}  // namespace weft::gguf
