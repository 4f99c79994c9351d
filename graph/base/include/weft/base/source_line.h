#pragma once
// A line of code, in messages and plans: that of the builder code which added a node.

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>

namespace weft {

class SourceLine {
 public:
  constexpr SourceLine() = default;  // no line
  // Implicit: the usual default argument is std::source_location::current().
  constexpr SourceLine(const std::source_location& here)
      : file_(here.file_name()), line_(here.line()) {}
  // For builder code in other languages. REQUIRES: `file` outlives all copies.
  constexpr SourceLine(std::string_view file, std::uint_least32_t line)
      : file_(file), line_(line) {}

  constexpr std::string_view file_name() const { return file_; }
  constexpr std::uint_least32_t line() const { return line_; }

 private:
  std::string_view file_;
  std::uint_least32_t line_ = 0;
};

// "models/arch/src/pages/llama.cpp:41", "line unknown"
std::string to_string(SourceLine where);

}  // namespace weft
