#pragma once

#include <filesystem>

namespace weft::test {

// The root of the source tree that the tests were built from.
std::filesystem::path source_tree();

}  // namespace weft::test
