#include "inputs/text_list.h"

#include <fmt/ranges.h>

#include "weft/base/text.h"

#include "common/read_text.h"

namespace weft::tools {

void TextList::add_flags(cli::App& app, const std::string& name, const std::string& what) {
  app.add_option(name, arguments, what).expected(-1).take_all().type_name("");
  app.add_option("-f,--file", file, what + " per line of this file; - is stdin").type_name("FILE");
}

std::vector<std::string> TextList::all() const {
  std::vector<std::string> texts = arguments;
  if (file.empty()) return texts;
  const std::string lines = cli::read_text(file);
  if (lines.empty()) return texts;
  for (std::size_t at = 0; at <= lines.size();) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    texts.emplace_back(without_line_end(std::string_view(lines).substr(at, end - at)));
    at = end + 1;
  }
  return texts;
}

std::string joined(const float* begin, const float* end, const char* separator) {
  return fmt::format("{}", fmt::join(begin, end, separator));
}

}  // namespace weft::tools
