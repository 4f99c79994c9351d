#include "common/extension_flag.h"

#include <string>
#include <vector>

#include "weft/base/error.h"
#include "weft/weft.h"

namespace weft::cli {
namespace {

void load(const std::string& path) {
  weft_error* error = nullptr;
  if (weft_load_extension(path.c_str(), &error) == WEFT_SUCCESS) return;
  const std::string message = weft_error_message(error);
  weft_error_free(error);
  throw Error(message);
}

}  // namespace

void add_extension_flag(App& app) {
  app.add_option_function(
         "--extension",
         [](const std::vector<std::string>& paths) {
           for (const std::string& path : paths) load(path);
         },
         "load architectures and ops from a shared library (docs/c_api.md)")
      .take_all()
      .type_name("FILE");
}

}  // namespace weft::cli
