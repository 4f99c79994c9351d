#include "weft/run/kept_texts.h"

#include <algorithm>
#include <limits>

#include "weft/ops/attention/cache_cells.h"

#include "plan/state_bytes.h"
#include "session/session_impl.h"

namespace weft {

using namespace run;

void mark(Session& session, std::int32_t sequence, std::int64_t length) {
  const auto& impl = SessionAccess::impl(session);
  impl.memory.lengths().check_grows(sequence);
  impl.memory.lengths().check_length(sequence, length);
  for (const auto& party : impl.parties) party->mark(sequence, length);
}

std::int64_t spare_positions(const Session& session) {
  std::int64_t n = std::numeric_limits<std::int64_t>::max();
  for (const auto& part : SessionAccess::impl(session).memory.parts())
    n = std::min(n, part->spare_positions());
  return n;
}

std::vector<std::int32_t> held_tokens(const Session& session, std::int32_t sequence,
                                      std::int64_t from, std::int64_t n) {
  const auto& impl = SessionAccess::impl(session);
  impl.memory.lengths().check(sequence);
  return impl.ids.copy_of(sequence, from, n);
}

KeptBytes kept_bytes(const Session& session) {
  const StateBytes bytes = state_bytes(SessionAccess::impl(session).planned);
  return {.per_token = static_cast<double>(bytes.kept_block) / kCellsPerBlock,
          .per_sequence = static_cast<double>(bytes.kept_sequence)};
}

void release_unused(Session& session, bool idle) {
  auto& impl = SessionAccess::impl(session);
  for (const auto& part : impl.memory.parts())
    if (const BlockPool* pool = part->pool()) part->store().release_rows(pool->free_blocks());
  if (!idle) return;
  release_memory(impl.arena.bytes());
  release_memory(impl.scratch.bytes());
}

}  // namespace weft
