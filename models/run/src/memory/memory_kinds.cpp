// The list of kinds of memory.
#include <algorithm>

#include "weft/base/error.h"

#include "memory/sequence_memory.h"

namespace weft {

using Make = std::unique_ptr<SequenceMemory>(const MemoryPart&, const MemoryLimits&, StateStore);
Make make_cell_memory;
Make make_row_memory;

namespace {

struct Kind {
  std::string_view name;
  Make* make;
};
constexpr Kind kKinds[] = {{"cells", make_cell_memory},  //
                           {"rows", make_row_memory}};

}  // namespace

std::unique_ptr<SequenceMemory> make_memory(const MemoryPart& part, const MemoryLimits& limits,
                                            StateStore store) {
  const auto* const kind = std::ranges::find(kKinds, part.kind, &Kind::name);
  if (kind == std::end(kKinds)) fail<Error>("unknown kind of memory '{}'", part.kind);
  return kind->make(part, limits, std::move(store));
}

}  // namespace weft
