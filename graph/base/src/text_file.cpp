#include "weft/base/text_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "weft/base/error.h"

namespace weft {

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return text;
}

std::string read_text_file(const std::string& path, std::size_t max_bytes) {
  const bool from_stdin = path == "-";
  const char* name = from_stdin ? "stdin" : path.c_str();
  const auto close = [](std::FILE* file) { std::fclose(file); };
  std::unique_ptr<std::FILE, decltype(close)> opened(from_stdin ? nullptr : std::fopen(name, "rb"));
  std::FILE* file = from_stdin ? stdin : opened.get();
  if (!file) fail<IoError>("{}: {}", name, std::strerror(errno));

  std::string text;
  char block[1 << 16];
  while (const std::size_t n = std::fread(block, 1, sizeof block, file)) {
    text.append(block, n);
    if (text.size() > max_bytes) fail<ValueError>("{}: longer than {} MiB", name, max_bytes >> 20);
  }
  if (std::ferror(file)) fail<IoError>("{}: {}", name, std::strerror(errno));
  text.erase(0, text.size() - without_byte_order_mark(text).size());
  return text;
}

}  // namespace weft
