#include "support/source_tree.h"

namespace weft::test {

std::filesystem::path source_tree() {
  return WEFT_SOURCE_TREE;
}

}  // namespace weft::test
