#pragma once
// Reads the fields of a message in the wire format of Protocol Buffers. Source:
// https://protobuf.dev/programming-guides/encoding/.

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::safetensors {

struct ProtoField {
  std::uint32_t number = 0;
  std::uint64_t value = 0;  // of types varint, fixed64, fixed32
  std::string_view bytes;   // of type "length-delimited": texts, bytes, messages
  bool has_bytes = false;

  float as_float() const;
  bool as_bool() const { return value != 0; }
};

// Views `message`. Throws FormatError "FILE: not a SentencePiece model: ..." for bytes that are not
// a message.
class ProtoReader {
 public:
  ProtoReader(std::string_view message, const std::string& file) : left_(message), file_(file) {}

  // Returns false behind the last field.
  bool next(ProtoField& field);

 private:
  std::uint64_t varint();
  std::string_view take(std::uint64_t n);
  [[noreturn]] void broken(std::string_view what) const;

  std::string_view left_;
  const std::string& file_;
};

}  // namespace weft::safetensors
