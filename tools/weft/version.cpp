#include "version.h"

#include "commit.h"

namespace weft::tools {

std::string version_text() {
  const std::string commit = WEFT_COMMIT;
  return "weft " WEFT_VERSION + (commit.empty() ? "" : " (commit " + commit + ")");
}

}  // namespace weft::tools
