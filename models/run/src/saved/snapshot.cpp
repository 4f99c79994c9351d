#include "weft/run/snapshot.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/run/kept_texts.h"

#include "saved/sequence_states.h"

namespace weft {
namespace {

// The first `end` tokens of a snapshot's text are those of the chain's.
struct Link {
  const Snapshot* snapshot = nullptr;
  std::int64_t end = 0;
};

std::vector<Link> links_of(SnapshotChain chain, std::size_t n_states) {
  std::vector<Link> links;
  std::int64_t begin = 0;
  for (const Snapshot* s : chain) {
    if (s->begin < begin || (links.empty() ? s->begin > 0 : s->begin > links.back().end))
      fail<FormatError>("a snapshot begins at token {}, expected {} to {}", s->begin, begin,
                        links.empty() ? 0 : links.back().end);
    if (s->states.size() != n_states)
      fail<FormatError>("a snapshot has {} states, the model has {}", s->states.size(), n_states);
    if (!links.empty()) links.back().end = s->begin;
    links.push_back({s, s->end()});
    begin = s->begin;
  }
  return links;
}

std::span<const std::byte> rows(const Snapshot::State& state, std::int64_t first,
                                std::int64_t end) {
  const std::int64_t each = state.shape.row_bytes;
  return state.bytes.subspan(static_cast<std::size_t>(first * each),
                             static_cast<std::size_t>((end - first) * each));
}

// A state of rows for all tokens, or for the last ones: as many of its last rows as the links have
// without a gap.
SavedState cells_of(std::span<const Link> links, std::size_t state) {
  SavedState saved{.pieces = {}};
  std::int64_t first = 0;  // the first row that `saved` has
  for (std::size_t i = links.size(); i-- > 0;) {
    const Snapshot::State& own = links[i].snapshot->states[state];
    const SavedShape& shape = own.shape;
    const std::int64_t n = std::ssize(own.bytes) / shape.row_bytes;
    const bool is_last = i + 1 == links.size();
    const std::int64_t end =
        is_last ? shape.first_row + n
                : std::min(shape.first_row + n, links[i].end / shape.tokens_per_row);
    if (!is_last && end < first) break;
    const std::int64_t until = is_last ? end : first;
    if (shape.first_row >= until) {
      if (is_last) first = until;
      continue;
    }
    saved.pieces.insert(saved.pieces.begin(), rows(own, 0, until - shape.first_row));
    first = shape.first_row;
  }
  return saved;
}

// A recurrent state: after all lengths that the links have.
SavedState states_of(std::span<const Link> links, std::size_t state) {
  SavedState saved{.pieces = {}};
  for (const Link& link : links) {
    const Snapshot::State& own = link.snapshot->states[state];
    const auto& lengths = own.shape.lengths;
    const std::int64_t after = saved.lengths.empty() ? 0 : saved.lengths.back();
    const auto first = std::ranges::upper_bound(lengths, after) - lengths.begin();
    const auto end = std::ranges::upper_bound(lengths, link.end) - lengths.begin();
    if (first >= end) continue;
    saved.lengths.insert(saved.lengths.end(), lengths.begin() + first, lengths.begin() + end);
    saved.pieces.push_back(rows(own, first, end));
  }
  return saved;
}

// The states of the whole text, as if it had been saved at once.
std::vector<SavedState> all_states(std::span<const Link> links, std::size_t n_states) {
  std::vector<SavedState> all;
  for (std::size_t i = 0; i < n_states; ++i) {
    const SavedShape& first = links.front().snapshot->states[i].shape;
    for (const Link& link : links) {
      const Snapshot::State& own = link.snapshot->states[i];
      const std::int64_t each = own.shape.row_bytes;
      const bool by_length = own.shape.tokens_per_row == 0;
      if (each == 0 && by_length && own.shape.lengths.empty() && first.row_bytes == 0) continue;
      if (own.shape.tokens_per_row != first.tokens_per_row || each != first.row_bytes ||
          each <= 0 || std::ssize(own.bytes) % each != 0 || own.shape.first_row < 0 ||
          (by_length && std::ssize(own.shape.lengths) != std::ssize(own.bytes) / each))
        fail<FormatError>("state {} of a snapshot has another layout than the text before it", i);
    }
    if (first.row_bytes == 0)  // has no rows: what it was at the end
      all.push_back({{links.back().snapshot->states[i].bytes}});
    else
      all.push_back(first.tokens_per_row > 0 ? cells_of(links, i) : states_of(links, i));
  }
  return all;
}

}  // namespace

Snapshot take_snapshot(const Session& session, std::int32_t sequence, std::int64_t begin,
                       std::int64_t end, SnapshotKind kind, std::vector<std::byte>& bytes) {
  const run::SavedRange range{
      .begin = begin, .end = end, .all_of_windows = kind == SnapshotKind::whole_windows};
  Snapshot snapshot{
      .begin = begin, .tokens = held_tokens(session, sequence, begin, end - begin), .states = {}};
  std::int64_t n_bytes = 0;
  for (std::size_t i = 0; i < run::n_states(session); ++i) {
    snapshot.states.push_back({run::saved_shape(session, sequence, i, range), {}});
    n_bytes += snapshot.states.back().shape.n_bytes;
  }
  bytes.resize(static_cast<std::size_t>(n_bytes));
  std::size_t at = 0;
  for (std::size_t i = 0; i < snapshot.states.size(); ++i) {
    Snapshot::State& state = snapshot.states[i];
    state.bytes = std::span(bytes).subspan(at, static_cast<std::size_t>(state.shape.n_bytes));
    run::save_state(session, sequence, i, range, [&](std::span<const std::byte> piece) {
      std::ranges::copy(piece, bytes.begin() + static_cast<std::ptrdiff_t>(at));
      at += piece.size();
    });
  }
  return snapshot;
}

std::int64_t snapshot_bytes(const Session& session, std::int64_t n_tokens) {
  const KeptBytes each = kept_bytes(session);
  return static_cast<std::int64_t>(each.per_token * static_cast<double>(n_tokens) +
                                   each.per_sequence);
}

std::int64_t resume_point(const Session& session, SnapshotChain chain, std::int64_t n) {
  const std::vector<Link> links = links_of(chain, run::n_states(session));
  if (links.empty()) return 0;
  const std::vector<SavedState> states = all_states(links, run::n_states(session));
  const std::int64_t end = links.back().end;
  return run::resume_point_of_saved(session, std::min(n, end), end, states);
}

void restore(Session& session, std::int32_t sequence, SnapshotChain chain, std::int64_t n) {
  const std::vector<Link> links = links_of(chain, run::n_states(session));
  if (links.empty()) fail<FormatError>("no snapshot to continue from");
  std::vector<std::int32_t> ids;
  for (const auto& [snapshot, end] : links)
    ids.insert(ids.end(), snapshot->tokens.begin(),
               snapshot->tokens.begin() + (end - snapshot->begin));
  run::restore_states(session, sequence, n, ids, all_states(links, run::n_states(session)));
}

}  // namespace weft
