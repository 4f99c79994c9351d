#include "tools/extension.h"

#include <mutex>
#include <set>

#include <dlfcn.h>

#include "weft/base/printable.h"

#include "border/call.h"

namespace weft::c_api {
namespace {

struct Extensions {
  std::mutex mutex;
  std::set<void*> started;
};

Extensions& extensions() {
  static Extensions& instance = *new Extensions;  // never destroyed, as the libraries stay loaded
  return instance;
}

void* open_library(const std::string& path) {
  // dlopen() searches the system's folders for a name without a slash.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* const why = ::dlerror();
    fail<IoError>("cannot load an extension: {}", printable_path(why ? why : path));
  }
  return library;
}

}  // namespace

void load_extension(const std::string& path) {
  const std::lock_guard lock(extensions().mutex);
  void* const library = open_library(path);
  if (extensions().started.contains(library)) {
    ::dlclose(library);
    return;
  }
  const auto start =
      reinterpret_cast<weft_extension_entry>(::dlsym(library, "weft_extension_start"));
  if (!start) {
    ::dlclose(library);
    fail<UnsupportedError>("{}: not an extension: it does not export weft_extension_start",
                           printable_path(path));
  }
  // From now on its functions may be registered, so that it must stay.
  checked_callback([&](weft_error** error) { return start(weft_api_version(), error); });
  extensions().started.insert(library);
}

}  // namespace weft::c_api
