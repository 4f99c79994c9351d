#pragma once
// GGUF files, versions 2 and 3, little-endian, whole or split ("-00001-of-00003.gguf": give the first part). The file is mapped read-only; nothing is
// copied. Every count, length, offset, size and product is checked before use; a file that lies is refused with FormatError (UnsupportedError for
// future versions and types we cannot read), and the message names the file, the place and the numbers. Immutable after open: any number of threads may read.
// Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weft/graph/op_def.h"

namespace weft {

struct MetaArray;

// One metadata value. Integers keep their sign class and are widened to 64 bits; `type` tells what the file declared.
enum class MetaType : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };
std::string_view to_string(MetaType type);

struct MetaValue {
  MetaType type = MetaType::u8;
  std::variant<std::uint64_t, std::int64_t, double, bool, std::string_view, std::shared_ptr<const MetaArray>> value;
};

// Elements of an array, in file order; strings view the mapped file.
struct MetaArray {
  MetaType element = MetaType::u8;
  std::variant<std::vector<std::uint64_t>, std::vector<std::int64_t>, std::vector<double>, std::vector<bool>,
               std::vector<std::string_view>, std::vector<MetaValue>> values;
  std::size_t size() const;
};

struct MetaEntry {
  std::string_view key;
  MetaValue value;
};

// One tensor of the file. `spec` has the slowest dimension first (GGUF stores the fastest first).
struct GgufTensor {
  std::string_view name;
  TensorSpec spec;
  const std::byte* data = nullptr;  // into the mapping
  std::int64_t n_bytes = 0;
  std::int32_t part = 0;            // index of the file of a split model
  std::uint64_t file_offset = 0;
};

class GgufFile {
 public:
  // Throws IoError, FormatError, UnsupportedError.
  static GgufFile open(const std::string& path);
  // The same checks over bytes in memory that outlive the object (tests, fuzzing). `name` stands for the path in messages.
  static GgufFile parse(std::span<const std::byte> bytes, const std::string& name);

  const std::string& path() const;
  std::uint32_t version() const;
  std::uint64_t alignment() const;
  std::int64_t file_bytes() const;  // all parts
  std::span<const MetaEntry> metadata() const;
  std::span<const GgufTensor> tensors() const;

  const MetaValue* find(std::string_view key) const;
  const GgufTensor* find_tensor(std::string_view name) const;

  // Typed reads: nullopt (or an empty span's worth, null) where the key is absent; FormatError "FILE: key 'K' must be an unsigned integer, got string" where it has
  // another type or does not fit.
  std::optional<std::uint64_t> find_uint(std::string_view key) const;
  std::optional<double> find_float(std::string_view key) const;  // f32, f64 or any integer
  std::optional<bool> find_bool(std::string_view key) const;
  std::optional<std::string_view> find_string(std::string_view key) const;
  std::optional<std::vector<std::string_view>> find_strings(std::string_view key) const;
  std::optional<std::vector<float>> find_floats(std::string_view key) const;     // f32/f64 elements only
  std::optional<std::vector<std::int64_t>> find_ints(std::string_view key) const;  // any integer elements

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace weft
