#pragma once
// Which Weft this is.

#include <string>

namespace weft::tools {

// "weft 0.1.0 (commit 035c691ac7f2)", with "+" behind the commit if files differed from it; without
// the commit if the sources were not a git checkout.
std::string version_text();

}  // namespace weft::tools
