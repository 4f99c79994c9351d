#include "memory/memory_kinds.h"

#include <algorithm>
#include <iterator>

#include "weft/base/error.h"

namespace weft::run {

std::unique_ptr<SequenceMemory> make_memory(const arch::MemoryPart& part,
                                            const MemoryLimits& limits, StateStore store) {
  const auto* const kind = std::ranges::find(kMemoryKinds, part.kind, &MemoryKind::name);
  if (kind == std::end(kMemoryKinds)) fail<Error>("unknown kind of memory '{}'", part.kind);
  return kind->make(part, limits, std::move(store));
}

}  // namespace weft::run
