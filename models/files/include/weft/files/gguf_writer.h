#pragma once
// Writes GGUF version 3 files: metadata and tensors in the order in which they were added, data
// aligned. The target appears under its name only when it is complete (see OutputFile). Not for use
// by several threads at once. Format: see gguf.h.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/files/gguf.h"
#include "weft/graph/op_def.h"

namespace weft {

class GgufWriter {
 public:
  // Takes the next bytes of a tensor.
  using Put = std::function<void(std::span<const std::byte>)>;
  // Produces all bytes of a tensor by calls of the Put it is given, in order, in pieces of any
  // size.
  using Produce = std::function<void(const Put&)>;

  // `alignment`: a power of two from 8 to 2 MiB. Other values than 32 are recorded as
  // general.alignment. Throws ValueError.
  explicit GgufWriter(std::uint64_t alignment = 32);

  // One entry. ValueError for a key that is there already, an empty or overlong (65535 bytes) one,
  // general.alignment, a value that does not fit its type.
  void add(std::string_view key, const MetaValue& value);  // copied, whatever it views
  void add_string(std::string_view key, std::string_view value);
  void add_bool(std::string_view key, bool value);
  void add_u32(std::string_view key, std::uint32_t value);
  void add_i32(std::string_view key, std::int32_t value);
  void add_u64(std::string_view key, std::uint64_t value);
  void add_f32(std::string_view key, float value);
  void add_strings(std::string_view key, std::span<const std::string> values);
  void add_i32s(std::string_view key, std::span<const std::int32_t> values);
  void add_f32s(std::string_view key, std::span<const float> values);

  // One tensor; slowest dimension first, none varying. Throws ValueError for a repeated, empty or
  // overlong (64 bytes) name, DTypeError for types that no file can hold, ShapeError for rows that
  // are not whole blocks.
  void add_tensor(std::string name, const TensorSpec& spec,
                  std::span<const std::byte> bytes);  // bytes outlive the writing
  void add_tensor(std::string name, const TensorSpec& spec, Produce produce);

  // Both can be repeated. They throw ValueError where a producer gives another number of bytes than
  // the spec says; IoError.
  void write(const std::string& path) const;
  std::vector<std::byte> to_bytes() const;

 private:
  struct Tensor {
    std::string name;
    TensorSpec spec;
    std::int64_t n_bytes;
    Produce produce;
  };
  void begin_entry(std::string_view key);
  std::string header() const;
  std::uint64_t file_bytes() const;
  void emit(const Put& put) const;

  std::uint64_t alignment_;
  std::uint64_t n_entries_ = 0;
  std::string entries_;  // encoded
  std::set<std::string, std::less<>> keys_, names_;
  std::vector<Tensor> tensors_;
};

}  // namespace weft
