#include "tools/extension.h"

#include <filesystem>
#include <mutex>
#include <set>

#include <dlfcn.h>

#include "weft/base/fork_mutex.h"
#include "weft/base/no_destructor.h"
#include "weft/base/printable.h"

#include "border/call.h"

namespace weft::c_api {
namespace {

struct Extensions {
  ForkMutex mutex;
  std::set<void*> started;  // or starting
};

Extensions& extensions() {
  static NoDestructor<Extensions> instance;
  return *instance;
}

// False if it was started before.
bool mark_started(void* library) {
  const std::lock_guard lock(extensions().mutex);
  return extensions().started.insert(library).second;
}

void unmark_started(void* library) {
  const std::lock_guard lock(extensions().mutex);
  extensions().started.erase(library);
}

void* open_library(const std::string& path) {
  // dlopen() searches the system's folders for a name without a slash.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  std::error_code ignored;  // dlopen() has the message for a file that does not exist
  if (std::filesystem::exists(file, ignored) && !std::filesystem::is_regular_file(file, ignored))
    fail<IoError>("cannot load an extension: {} is not a regular file", printable_path(path));
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* const why = ::dlerror();
    fail<IoError>("cannot load an extension: {}", printable_path(why ? why : path));
  }
  return library;
}

}  // namespace

void load_extension(const std::string& path) {
  void* const library = open_library(path);
  const auto start =
      reinterpret_cast<weft_extension_entry>(::dlsym(library, "weft_extension_start"));
  if (!start) {
    ::dlclose(library);
    fail<UnsupportedError>("{}: not an extension: it does not export weft_extension_start",
                           printable_path(path));
  }
  if (!mark_started(library)) {
    ::dlclose(library);
    return;
  }
  // From now on its functions may be registered, so that it must stay.
  try {
    checked_callback([&](weft_error** error) { return start(weft_api_version(), error); });
  } catch (...) {
    unmark_started(library);
    throw;
  }
}

}  // namespace weft::c_api
