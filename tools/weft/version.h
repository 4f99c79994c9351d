#pragma once
// Which Weft this is.

#include <string>

namespace weft::tools {

// "weft 0.1.0 (commit 035c691ac7f2)", with "+" behind the commit if files differed from it; without
// the commit if the sources were not a git checkout.
std::string version_text();

// How this program was built, and what it uses on this machine: lines of a name and a value,
// without paths. Throws ValueError if WEFT_CPU_ISA names a set that is unknown or that this machine
// lacks.
std::string build_text();

}  // namespace weft::tools
