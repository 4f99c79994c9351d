#include "version.h"

#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

#include "weft/backends/backend.h"
#include "weft/backends/tunables.h"

#include "build_facts.h"
#include "commit.h"

namespace weft::tools {
namespace {

std::string c_library() {
#if defined(__GLIBC__)
  return fmt::format("glibc {}.{} when built, {} here", __GLIBC__, __GLIBC_MINOR__,
                     gnu_get_libc_version());
#else
  return "not glibc";
#endif
}

std::string_view or_none(std::string_view text) {
  return text.empty() ? "none" : text;
}

std::string line(std::string_view name, std::string_view value) {
  return fmt::format("{:<15} {}\n", name, value);
}

}  // namespace

std::string version_text() {
  const std::string commit = WEFT_COMMIT;
  return "weft " WEFT_VERSION + (commit.empty() ? "" : " (commit " + commit + ")");
}

std::string build_text() {
  const std::string commit = WEFT_COMMIT;
  return line("commit", commit.empty() ? "unknown" : commit) + line("system", WEFT_BUILD_SYSTEM) +
         line("compiler", WEFT_BUILD_COMPILER) + line("build type", or_none(WEFT_BUILD_TYPE)) +
         line("flags", or_none(WEFT_BUILD_FLAGS)) +
         line("build options", or_none(WEFT_BUILD_OPTIONS)) + line("C library", c_library()) +
         line("libraries", WEFT_BUILD_LIBRARIES) + line("kernels", or_none(WEFT_BUILD_SETS)) +
         line("this processor", fmt::format("{}", fmt::join(cpu_isas(), ", "))) +
         line("kernels used", or_none(cpu_backend_isa()));
}

}  // namespace weft::tools
