#pragma once
// Counts heap calls. Link allocations.cpp into a test binary; it replaces malloc and its relatives
// for the whole process and all threads. Sanitizers need those for themselves: there it counts
// nothing.

#include <cstdint>

namespace weft::test {

// Heap calls of all threads since the start of the process; always 0 under a sanitizer.
std::int64_t allocations();

}  // namespace weft::test
