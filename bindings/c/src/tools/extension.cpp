#include "tools/extension.h"

#include <mutex>
#include <set>
#include <type_traits>

#include "weft/base/fork_mutex.h"
#include "weft/base/library.h"
#include "weft/base/no_destructor.h"
#include "weft/base/printable.h"

#include "border/call.h"

namespace weft::c_api {
namespace {

struct Extensions {
  ForkMutex mutex;
  std::set<const void*> started;  // or starting
};

Extensions& extensions() {
  static NoDestructor<Extensions> instance;
  return *instance;
}

// False if it was started before.
bool mark_started(const void* library) {
  const std::lock_guard lock(extensions().mutex);
  return extensions().started.insert(library).second;
}

void unmark_started(const void* library) {
  const std::lock_guard lock(extensions().mutex);
  extensions().started.erase(library);
}

Library open_library(const std::string& path) {
  try {
    return Library::load(path);
  } catch (const Error& error) {
    fail<IoError>("cannot load an extension: {}", error.what());
  }
}

}  // namespace

void load_extension(const std::string& path) {
  constexpr const char* kEntry = "weft_extension_start";
  const Library library = open_library(path);
  auto* const start = library.find<std::remove_pointer_t<weft_extension_entry>>(kEntry);
  if (!start) {
    library.close();
    fail<UnsupportedError>("{}: not an extension: it does not export {}", printable_path(path),
                           kEntry);
  }
  if (!mark_started(library.handle())) {
    library.close();
    return;
  }
  // From now on its functions may be registered, so that it must stay.
  try {
    checked_callback([&](weft_error** error) { return start(weft_api_version(), error); });
  } catch (...) {
    unmark_started(library.handle());
    throw;
  }
}

}  // namespace weft::c_api
