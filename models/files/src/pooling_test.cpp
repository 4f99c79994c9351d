#include "weft/files/pooling.h"

#include <fstream>
#include <iterator>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace weft {
namespace {

TEST_CASE("docs/embeddings.md lists the poolings") {
  std::string rows;
  for (const PoolingKind& kind : pooling_kinds())
    rows += fmt::format("| `--pooling {}` | {} |\n", kind.name, kind.meaning);
  std::ifstream file(WEFT_EMBEDDINGS_PAGE);
  const std::string page(std::istreambuf_iterator<char>(file), {});
  CHECK_MESSAGE(page.find("\n" + rows) != page.npos, "its table must have these rows:\n" << rows);
}

}  // namespace
}  // namespace weft
