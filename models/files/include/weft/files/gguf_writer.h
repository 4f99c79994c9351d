#pragma once
// Writes GGUF version 3 files: metadata and tensors in the order in which they were added, data
// aligned. The target appears under its name only when it is complete (see OutputFile). Not for use
// by several threads at once. Format: see checkpoint.h.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/files/metadata.h"
#include "weft/graph/op_def.h"

namespace weft {

// Whether a key is about how tensors are laid out in files: their alignment and the parts of split
// models, also by ranks. Copies of a model leave these keys out; the writer records the alignment.
bool is_layout_key(std::string_view key);

class GgufWriter : public MetadataSink {
 public:
  // Receives the next bytes of a tensor.
  using Put = std::function<void(std::span<const std::byte>)>;
  // Produces all bytes of a tensor, in order, through calls of `put`, in pieces of any size.
  using Produce = std::function<void(const Put&)>;

  // `alignment`: a power of two from 8 to 2 MiB. Other values than 32 are recorded as
  // general.alignment. Throws ValueError.
  explicit GgufWriter(std::uint64_t alignment = 32);

  // Throws ValueError also for an empty or overlong (over 65535 bytes) key and for
  // general.alignment.
  void add(std::string_view key, const MetaValue& value) override;

  // Adds a tensor; slowest dimension first, none varying. Throws ValueError for a duplicate, empty
  // or overlong (over 64 bytes) name, DTypeError for types that no file can hold, ShapeError for
  // rows that are not whole blocks. The bytes outlive the writing.
  void add_tensor(std::string name, const TensorSpec& spec, std::span<const std::byte> bytes);
  void add_tensor(std::string name, const TensorSpec& spec, Produce produce);

  // Both can be repeated. They throw ValueError if a producer's bytes do not match the spec;
  // IoError.
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
