#include "weft/run/dropped_tokens.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "weft/base/error.h"
#include "weft/ops/attention/cache_cells.h"
#include "weft/ops/formats/format.h"
#include "weft/run/moved_tokens.h"

#include "memory/cell_drop.h"
#include "moved/cell_mover.h"
#include "session/session_impl.h"

namespace weft {

using namespace run;

std::string why_not_dropped(const Session& session) {
  return why_not_moved(session);
}

std::string why_not_dropped(const Model& model) {
  return why_not_moved(model);
}

// Blocks of windows keep their contents: the oldest position that the next token sees may be
// anywhere in a block, all of which is of the last range.
std::int64_t min_newest_tokens(const Session& session) {
  std::int64_t n = 1;
  for (const arch::MemoryPart& part : SessionAccess::impl(session).planned.memory_parts)
    if (part.of == arch::MemoryOf::sequence && part.window > 0)
      n = std::max(n, part.window + kCellsPerBlock - 1);
  return n;
}

namespace {

void check_ranges(const Session& session, std::int32_t sequence, std::span<const TokenRange> kept) {
  const std::int64_t length = session.length(sequence);
  std::int64_t before = 0;
  for (const auto& [begin, end] : kept) {
    if (begin < before || end <= begin || end > length)
      fail<ValueError>("sequence {} has {} tokens, cannot keep {} to {} behind {}", sequence,
                       length, begin, end, before);
    before = end;
  }
}

Dropping dropping_of(std::span<const TokenRange> kept) {
  Dropping dropping{.kept = kept};
  for (const TokenRange& range : kept) {
    if (range.begin == dropping.length) dropping.same = range.end;
    dropping.length += range.size();
  }
  return dropping;
}

// What drops in one part, and what moves its cells.
struct PartDrop {
  std::unique_ptr<CellDrop> cells;  // may be null
  std::vector<CellMover> movers;
  std::vector<CellDrop::Move> moves;
};

// All that can fail. Throws BudgetError if blocks that others share cannot be copied.
std::vector<PartDrop> prepare(Session& session, std::int32_t sequence, const Dropping& dropping) {
  auto& s = SessionAccess::impl(session);
  std::vector<PartDrop> parts;
  const auto weight = [&s](const Node& node) { return s.weight(node); };
  for (const auto& part : s.memory.parts()) {
    PartDrop& added = parts.emplace_back(PartDrop{part->begin_drop(sequence, dropping), {}, {}});
    if (!added.cells) continue;
    while (!added.cells->own())
      if (!make_room(s.memory, sequence))
        fail<BudgetError>("no room to drop tokens of sequence {}, which shares them: {}", sequence,
                          part->room());
    added.moves = added.cells->moves();
    for (const StateStore::State& state : part->store().states())
      added.movers.emplace_back(state, s.planned.graphs.front(), s.rotations, weight);
  }
  return parts;
}

void move_cells(PartDrop& part) {
  for (CellMover& mover : part.movers) {
    std::int32_t by = 0;
    for (const CellDrop::Move& move : part.moves) {
      if (move.by != by) mover.set_distance(by = move.by);
      mover.move(move.from, move.to);
    }
  }
  if (part.cells) part.cells->commit();
}

}  // namespace

void drop_tokens(Session& session, std::int32_t sequence, std::span<const TokenRange> kept) {
  auto& s = SessionAccess::impl(session);
  if (const std::string why = why_not_dropped(session); !why.empty())
    fail<UnsupportedError>("{}: tokens cannot be dropped: {}", session.model().file().path(), why);
  s.memory.lengths().check_grows(sequence);
  check_ranges(session, sequence, kept);
  const Dropping dropping = dropping_of(kept);
  if (dropping.same == dropping.length) return session.truncate(sequence, dropping.length);
  const std::int64_t n = kept.back().size(), least = min_newest_tokens(session);
  if (n < least)
    fail<ValueError>("the last {} tokens have to stay, as windows of the model see them, not {}",
                     least, n);
  std::vector<PartDrop> parts = prepare(session, sequence, dropping);
  for (PartDrop& part : parts) move_cells(part);
  for (const auto& party : s.parties) party->drop(sequence, dropping);
}

namespace {

// Adds the length of each key of a state to `sums`, by token. Returns how many heads it has.
std::int64_t add_lengths(const StateStore::State& state, std::span<const std::int32_t> blocks,
                         std::vector<double>& sums) {
  const View view = bounds_view(state.spec, state.host);
  std::vector<float> head(static_cast<std::size_t>(view.dim(-1)));
  for (std::int64_t group = 0; group < view.dim(1); ++group) {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const std::int64_t block = blocks[i / kCellsPerBlock];
      const auto within = static_cast<std::int64_t>(i % kCellsPerBlock);
      find_format(view.dtype)
          ->decode(cell_at(view, block * kCellsPerBlock + within, group), head.data(),
                   view.dim(-1));
      double squares = 0;
      for (const float x : head) squares += double{x} * x;
      sums[i] += std::sqrt(squares);
    }
  }
  return view.dim(1);
}

}  // namespace

namespace {

// Calls f(part, state) for the keys of the layers that see all tokens.
template <class F>
void for_each_keys(const Session& session, F f) {
  const auto& s = SessionAccess::impl(session);
  for (std::size_t i = 0; i < s.planned.memory_parts.size(); ++i) {
    const arch::MemoryPart& part = s.planned.memory_parts[i];
    if (part.of != arch::MemoryOf::sequence || part.window > 0) continue;
    for (const auto& memory : s.memory.parts())
      for (const StateStore::State& state : memory->store().states()) {
        const auto found = s.rotations.of_state.find(state.path);
        const bool is_own = std::ranges::find(part.states, state.path) != part.states.end();
        if (is_own && state.host && found != s.rotations.of_state.end() && !found->second.empty())
          f(*memory, state);
      }
  }
}

}  // namespace

bool has_measured_keys(const Session& session) {
  bool has = false;
  for_each_keys(session, [&](const auto&, const auto&) { has = true; });
  return has;
}

std::vector<float> key_lengths(const Session& session, std::int32_t sequence) {
  const std::int64_t length = session.length(sequence);
  std::vector<double> sums(static_cast<std::size_t>(length));
  std::int64_t n = 0;
  for_each_keys(session, [&](const SequenceMemory& part, const StateStore::State& state) {
    n += add_lengths(state, part.saved_rows(sequence, length), sums);
  });
  std::vector<float> means;
  for (const double sum : sums)
    if (n > 0) means.push_back(static_cast<float>(sum / static_cast<double>(n)));
  return means;
}

}  // namespace weft
