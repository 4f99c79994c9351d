#pragma once
// The one list of kinds of memory: the value of MemoryPart::kind, and the function that makes it.

#include <memory>
#include <string_view>

#include "memory/sequence_memory.h"

namespace weft::run {

using MakeMemory = std::unique_ptr<SequenceMemory>(const arch::MemoryPart&, const MemoryLimits&,
                                                   StateStore);
MakeMemory make_cell_memory;
MakeMemory make_row_memory;
MakeMemory make_fixed_memory;

struct MemoryKind {
  std::string_view name;
  MakeMemory* make;
};
inline constexpr MemoryKind kMemoryKinds[] = {{"cells", make_cell_memory},  //
                                              {"rows", make_row_memory},
                                              {"fixed", make_fixed_memory}};

}  // namespace weft::run
