#pragma once
// One file of a model: the header, metadata and tensor table, checked against the bytes of that
// file.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/files/gguf.h"
#include "weft/files/gguf_limits.h"

namespace weft::gguf {

struct Part {
  std::uint32_t version = 0;
  std::uint64_t alignment = kDefaultAlignment;
  std::vector<MetaEntry> metadata;
  std::vector<std::uint32_t> by_key;  // indices of `metadata`, sorted by key
  // Inside the file, not overlapping; names not yet checked for doubles.
  std::vector<GgufTensor> tensors;

  const MetaValue* find(std::string_view key) const;
};

Part parse_part(std::span<const std::byte> bytes, const std::string& file);

// An integer value as an unsigned one. Throws FormatError "FILE: key 'K' must be an unsigned
// integer, got string".
std::uint64_t to_uint(const MetaValue& value, std::string_view key, const std::string& file);

}  // namespace weft::gguf
