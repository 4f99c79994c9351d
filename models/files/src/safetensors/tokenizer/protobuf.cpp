#include "safetensors/tokenizer/protobuf.h"

#include <bit>

#include "weft/base/error.h"
#include "weft/base/printable.h"

namespace weft::safetensors {

float ProtoField::as_float() const {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value));
}

void ProtoReader::broken(std::string_view what) const {
  fail<FormatError>("{}: not a SentencePiece model: {}", printable_path(file_), what);
}

std::string_view ProtoReader::take(std::uint64_t n) {
  if (n > left_.size()) broken("a field ends beyond the file");
  const std::string_view bytes = left_.substr(0, static_cast<std::size_t>(n));
  left_.remove_prefix(bytes.size());
  return bytes;
}

std::uint64_t ProtoReader::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<std::uint8_t>(take(1)[0]);
    value |= std::uint64_t{byte & 0x7Fu} << shift;
    if ((byte & 0x80) == 0) return value;
  }
  broken("a number of more than 64 bits");
}

bool ProtoReader::next(ProtoField& field) {
  enum : std::uint32_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };
  if (left_.empty()) return false;
  const std::uint64_t tag = varint();
  field = {.number = static_cast<std::uint32_t>(tag >> 3)};
  if (tag >> 3 == 0 || tag >> 32 != 0) broken("a field without a number");
  const auto type = static_cast<std::uint32_t>(tag & 7);
  if (type == kVarint) {
    field.value = varint();
  } else if (type == kLength) {
    field.bytes = take(varint());
    field.has_bytes = true;
  } else if (type == kFixed64 || type == kFixed32) {
    const std::string_view bytes = take(type == kFixed64 ? 8 : 4);
    for (std::size_t i = bytes.size(); i-- > 0;)
      field.value = field.value << 8 | static_cast<std::uint8_t>(bytes[i]);
  } else {
    broken("a field of an unknown type");
  }
  return true;
}

}  // namespace weft::safetensors
