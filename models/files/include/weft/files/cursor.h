#pragma once
// Reads little-endian values from untrusted bytes, front to back. Reading past the end is a
// FormatError that names the file, the offset and the value that was being read.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/checkpoint.h"

namespace weft::gguf {

static_assert(std::endian::native == std::endian::little,
              "values are copied from the file without conversion");

class Cursor {
 public:
  // `file` and `bytes` outlive the cursor.
  Cursor(std::span<const std::byte> bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  std::uint64_t offset() const { return offset_; }
  std::uint64_t remaining() const { return bytes_.size() - offset_; }
  const std::string& file() const { return file_; }

  // The subject of the following reads, for messages: "key", "general.name". Both texts outlive the
  // reads.
  void set_subject(std::string_view kind, std::string_view name = {}) {
    kind_ = kind;
    name_ = name;
  }

  template <class T>
  T read(std::string_view what) {
    require(1, sizeof(T), what);
    T value;
    std::memcpy(&value, bytes_.data() + offset_, sizeof(T));
    offset_ += sizeof(T);
    return value;
  }

  // A string's bytes, in place. `max_bytes` limits its length in addition to the size of the file.
  std::string_view read_string(std::string_view what, std::uint64_t max_bytes = UINT64_MAX) {
    const auto length = read<std::uint64_t>(what);
    if (length > max_bytes)
      fail_here("{} must be at most {} bytes long, got {}", what, max_bytes, length);
    require(length, 1, what);
    const auto* text = reinterpret_cast<const char*>(bytes_.data() + offset_);
    offset_ += length;
    return {text, static_cast<std::size_t>(length)};
  }

  // The next `count` items of `bytes_each` bytes, in place.
  std::span<const std::byte> take(std::uint64_t count, std::uint64_t bytes_each,
                                  std::string_view what) {
    require(count, bytes_each, what);
    const auto taken = bytes_.subspan(offset_, count * bytes_each);
    offset_ += taken.size();
    return taken;
  }

  // Fails unless `count` items of `bytes_each` bytes are left. Call it before reserving memory for
  // a count.
  void require(std::uint64_t count, std::uint64_t bytes_each, std::string_view what) const {
    if (count <= remaining() / bytes_each) return;
    fail_here("{}: expected {} x {} bytes, but {} are left of the {} bytes of the file", what,
              count, bytes_each, remaining(), bytes_.size());
  }

  template <class E = FormatError, class... Args>
  [[noreturn]] void fail_here(fmt::format_string<Args...> text, Args&&... args) const {
    throw E(place() + fmt::format(text, std::forward<Args>(args)...));
  }

 private:
  std::string place() const {
    const std::string subject =
        name_.empty() ? std::string(kind_) : fmt::format("{} '{}'", kind_, printable(name_));
    return fmt::format("{}: at byte {}: {}{}", printable_path(file_), offset_, subject,
                       kind_.empty() ? "" : ": ");
  }

  std::span<const std::byte> bytes_;
  const std::string& file_;
  std::uint64_t offset_ = 0;
  std::string_view kind_, name_;
};

}  // namespace weft::gguf
