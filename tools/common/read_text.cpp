#include "common/read_text.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "weft/base/error.h"

namespace weft::cli {

std::string read_text(const std::string& path) {
  constexpr std::size_t kMaxBytes = std::size_t{256} << 20;
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
    if (text.size() > kMaxBytes) fail<ValueError>("{}: longer than 256 MiB", name);
  }
  if (std::ferror(file)) fail<IoError>("{}: {}", name, std::strerror(errno));
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace weft::cli
