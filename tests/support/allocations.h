#pragma once
// Counts heap calls. Link allocations.cpp into a test binary; it replaces operator new and, outside
// of sanitizers, malloc and its relatives, for the whole process and all threads.

#include <cstdint>

namespace weft::test {

// Heap calls of all threads since the start of the process.
std::int64_t allocations();

}  // namespace weft::test
