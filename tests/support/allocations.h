#pragma once
// Counts heap allocations of the whole process, those of libraries included. Link
// allocations.cpp into the test.

#include <cstdint>

namespace weft::test {

// malloc, calloc, realloc, the aligned ones and operator new, on any thread, since the program
// began.
std::int64_t allocations();

}  // namespace weft::test
