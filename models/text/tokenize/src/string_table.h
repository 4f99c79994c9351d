#pragma once
// Many strings in one piece of memory. Views into it stay valid as long as the table does and is
// not added to.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::tokenize {

class StringTable {
 public:
  void reserve(std::size_t n_strings, std::size_t n_bytes) {
    ends_.reserve(n_strings);
    bytes_.reserve(n_bytes);
  }
  void add(std::string_view text) {
    bytes_ += text;
    ends_.push_back(bytes_.size());
  }
  std::size_t size() const { return ends_.size(); }
  std::string_view operator[](std::size_t i) const {
    const std::uint64_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(bytes_).substr(begin, ends_[i] - begin);
  }

 private:
  std::string bytes_;
  std::vector<std::uint64_t> ends_;
};

// Finds strings of a table by their text: open addressing over their numbers. The table must
// outlive the index.
class StringIndex {
 public:
  // Among equal strings, the last one is found. Empty strings are never found. Returns how many
  // were shadowed by a later equal one.
  std::size_t build(const StringTable& table);
  // The number of the string, or -1.
  std::int64_t find(std::string_view text) const;

 private:
  std::size_t slot_of(std::string_view text) const;

  const StringTable* table_ = nullptr;
  std::vector<std::int32_t>
      slots_;  // -1: empty; the size is a power of two, at least twice the number of strings
};

}  // namespace weft::tokenize
