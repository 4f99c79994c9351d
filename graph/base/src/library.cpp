#include "weft/base/library.h"

#include <filesystem>

#include <dlfcn.h>

#include "weft/base/printable.h"

namespace weft {

Library Library::load(const std::string& path, Symbols symbols) {
  // dlopen() searches the system's folders for a name without a slash.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  std::error_code ignored;  // dlopen() has the message for a file that does not exist
  if (std::filesystem::exists(file, ignored) && !std::filesystem::is_regular_file(file, ignored))
    fail<IoError>("{} is not a regular file", printable_path(path));
  void* const handle =
      ::dlopen(file.c_str(), RTLD_NOW | (symbols == Symbols::global ? RTLD_GLOBAL : RTLD_LOCAL));
  if (!handle) {
    const char* const why = ::dlerror();
    fail<UnsupportedError>("{}: cannot be loaded: {}", printable_path(path),
                           printable(why ? why : "no reason given"));
  }
  return Library(handle);
}

void* Library::symbol(const char* name) const {
  return ::dlsym(handle_, name);
}

void Library::close() const {
  ::dlclose(handle_);
}

std::string missing_functions(std::initializer_list<std::pair<bool, std::string_view>> functions) {
  std::string missing;
  for (const auto& [there, name] : functions) {
    if (!there) missing.append(missing.empty() ? "" : ", ").append(name);
  }
  return missing;
}

}  // namespace weft
