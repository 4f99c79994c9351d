#pragma once
// Metadata entries: parsing and typed access.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/printable.h"
#include "weft/files/cursor.h"
#include "weft/files/gguf.h"

namespace weft::gguf {

// Bytes that the decoded form of a file's header may take. Arrays of bytes grow eightfold when
// decoded, and empty arrays more: without a limit a large file could ask for many times its own
// size. Vocabularies of 256k tokens with merges need about 15 MiB.
class DecodeBudget {
 public:
  static constexpr std::uint64_t kLimit = std::uint64_t{256} << 20;
  // REQUIRES: the cursor has shown that `count` is below the file's size.
  void charge(const Cursor& cursor, std::uint64_t count, std::uint64_t bytes_each);

 private:
  std::uint64_t used_ = 0;
};

// `count` entries with distinct keys.
std::vector<MetaEntry> parse_metadata(Cursor& cursor, std::uint64_t count, DecodeBudget& budget);

// Indices of `items`, sorted by name. Fails with FormatError on equal names: "FILE: key 'K' appears
// twice".
template <class Items, class GetName>
std::vector<std::uint32_t> index_by_name(const Items& items, GetName name, std::string_view kind,
                                         const std::string& file) {
  std::vector<std::uint32_t> index(items.size());
  std::iota(index.begin(), index.end(), 0u);
  std::sort(index.begin(), index.end(),
            [&](std::uint32_t a, std::uint32_t b) { return name(items[a]) < name(items[b]); });
  for (std::size_t i = 1; i < index.size(); ++i) {
    if (name(items[index[i]]) == name(items[index[i - 1]])) {
      fail<FormatError>("{}: {} '{}' appears twice", printable_path(file), kind,
                        printable(name(items[index[i]])));
    }
  }
  return index;
}

}  // namespace weft::gguf
