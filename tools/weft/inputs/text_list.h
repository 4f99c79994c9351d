#pragma once
// Lists of texts as arguments, or as the lines of a file.

#include <string>
#include <vector>

#include "common/app.h"

namespace weft::tools {

// TEXT..., -f FILE.
struct TextList {
  std::vector<std::string> arguments;
  std::string file;

  // The name of an argument, "TEXT", and its description, "a text to embed".
  void add_flags(cli::App& app, const std::string& name, const std::string& what);
  // The arguments, then the lines of the file. Throws like cli::read_text().
  std::vector<std::string> all() const;
};

// Numbers as JSON or plain text: the shortest digits that give the same float again.
std::string joined(const float* begin, const float* end, const char* separator);

}  // namespace weft::tools
