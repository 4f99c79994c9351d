// One row per sequence of any length: states of recurrent layers. A row is written once and only
// read from then on, so that sequences can share rows, and rows of earlier lengths serve as
// checkpoints.
#include <algorithm>
#include <utility>

#include "weft/base/error.h"

#include "memory/memory_kinds.h"
#include "memory/row_pool.h"

namespace weft::run {
namespace {

// Whether the state after so many tokens stays while there is room. `every`:
// MemorySizes::lasting_every; 0: none stays.
bool lasts(std::int64_t length, std::int64_t every, std::span<const std::int64_t> marks) {
  return every > 0 && (length % every == 0 || std::ranges::binary_search(marks, length));
}

// Drops the oldest mark that frees a row, but for the first one: that is where most branches of a
// text begin.
bool drop_old_mark(RowPool& pool, StateRowList& kept, std::span<const std::int64_t> marks) {
  bool is_first = true;
  for (std::size_t i = 0; i + 1 < kept.size(); ++i) {
    const StateRow& row = kept[i];
    if (!std::ranges::binary_search(marks, row.length) || std::exchange(is_first, false)) continue;
    if (row.length % arch::kCheckpointEvery == 0 || pool.is_shared(row.row)) continue;
    pool.drop(kept, i);
    return true;
  }
  return false;
}

// There are enough rows for every step (arch/src/decoder/memory.cpp), after thin().
class RowMemory final : public SequenceMemory {
 public:
  RowMemory(const arch::MemoryPart& part, const MemoryLimits& limits, StateStore store)
      : SequenceMemory(std::move(store)),
        suffix_(part.suffix),
        keeps_lasting_(part.kept_rows > 0),
        every_(keeps_lasting_ ? part.lasting_every : 0),
        n_growing_(static_cast<std::int32_t>(limits.sequences)),
        rewind_((part.n_rows - part.kept_rows) / limits.sequences - (arch::kCheckpoints + 2)),
        pool_(part.n_rows),
        sequences_(static_cast<std::size_t>(limits.all())) {
    const std::int64_t n_lasting = keeps_lasting_ ? limits.context / every_ : 0;
    for (Sequence& s : std::span(sequences_).first(static_cast<std::size_t>(limits.sequences))) {
      s.kept.reserve(static_cast<std::size_t>(arch::kCheckpoints + 2 + rewind_ + n_lasting));
      s.reserved.reserve(s.kept.capacity());
    }
  }

  std::vector<std::string> input_names() const override {
    return {"rows_from" + suffix_, "before" + suffix_, "rows_to" + suffix_};
  }
  std::int64_t spare_positions() const override {
    return keeps_lasting_ ? pool_.n_free() * every_ : free_positions();
  }
  std::string room() const override {
    return fmt::format("{} of the {} rows are free", pool_.n_free(), pool_.n_blocks());
  }
  const Growth* reserve(std::span<const Growth> step) override;
  void write_inputs(std::span<const TokenPlace> tokens, std::span<const Growth> step,
                    std::span<const InputValues> inputs) override;
  void append(std::span<const Growth> step) override;
  void rollback(std::span<const Growth> step) override {
    for (const Growth& g : step) pool_.release_after(of(g.sequence).reserved, 0);
  }

  std::int64_t resume_point(std::int32_t sequence, std::int64_t length) const override {
    const Row* const row = last_until(of(sequence).kept, length);
    return row ? row->length : 0;
  }
  void truncate(std::int32_t sequence, std::int64_t length) override;
  void copy(std::int32_t from, std::int32_t to, std::int64_t length) override;
  bool thin(std::int32_t sequence, std::span<const std::int64_t> marks) override;

  std::vector<std::int32_t> saved_rows(std::int32_t sequence, std::int64_t length) const override;
  std::vector<std::int64_t> saved_lengths(std::int32_t sequence,
                                          std::int64_t length) const override;
  RowCount row_count(std::int64_t length) const override {
    return length > 0 ? RowCount{1, 1} : RowCount{};
  }
  const BlockPool* pool() const override { return &pool_; }
  std::int64_t restore_point(std::int64_t length, const Saved& saved) const override;
  Range needed_rows(std::int64_t length, const Saved& saved) const override;
  bool can_replace(std::int32_t sequence, std::int64_t n_rows) const override {
    const auto is_own = [&](const Row& row) { return !pool_.is_shared(row.row); };
    return std::min(n_rows, arch::kCheckpoints + 1 + rewind_) <=
           pool_.n_free() + std::ranges::count_if(of(sequence).kept, is_own);
  }
  std::vector<std::int32_t> replace(std::int32_t sequence, std::int64_t length, std::int64_t n_rows,
                                    std::span<const std::int64_t> lengths) override;

 private:
  using Row = StateRow;
  using Rows = StateRowList;
  struct Sequence {
    Rows kept;              // checkpoints, then the current state; empty: no tokens
    Rows reserved;          // rows for the reserved step
    std::int32_t seen = 0;  // write_inputs(): the last token of the step so far
  };

  Sequence& of(std::int32_t sequence) { return sequences_[static_cast<std::size_t>(sequence)]; }
  const Sequence& of(std::int32_t sequence) const {
    return sequences_[static_cast<std::size_t>(sequence)];
  }

  void make_way(const Growth& g, std::int64_t n_checkpoints);
  bool reserve(const Growth& g);
  void reserve_lasting(const Growth& g);
  bool take_for_rewind(const Growth& g);

  const std::string suffix_;
  const bool keeps_lasting_;
  const std::int64_t every_;  // MemorySizes::lasting_every
  const std::int32_t n_growing_;
  const std::int64_t rewind_;  // MemorySizes::rewind
  RowPool pool_;
  std::vector<Sequence> sequences_;
};

// Rows for the states before each of the last tokens, if the step is one with guesses. REQUIRES: it
// has reserved the checkpoints in it.
bool RowMemory::take_for_rewind(const Growth& g) {
  if (g.to - g.from > rewind_ + 1) return true;
  Rows& reserved = of(g.sequence).reserved;
  const std::size_t n_checkpoints = reserved.size();
  const auto is_there = [&](std::int64_t length) {
    return std::ranges::count(std::span(reserved).first(n_checkpoints), length, &Row::length) > 0;
  };
  bool has_all = true;
  for (std::int64_t length = g.from + 1; length < g.to; ++length)
    if (!is_there(length)) has_all = has_all && pool_.take(reserved, length);
  std::ranges::sort(reserved, {}, &Row::length);
  return has_all;
}

// Releases what the last step kept for its rewind, and the checkpoints that are too many beside
// those of the step, so that there are always enough rows; a step that fails loses only these.
void RowMemory::make_way(const Growth& g, std::int64_t n_checkpoints) {
  Rows& kept = of(g.sequence).kept;
  const auto is_checkpoint = [](const Row& row) {
    return row.length % arch::kCheckpointEvery == 0;
  };
  std::int64_t n = n_checkpoints;
  for (std::size_t i = kept.size(); i-- > 1;) {
    const Row& row = kept[i - 1];  // not the current state
    const bool stays =
        (is_checkpoint(row) && ++n <= arch::kCheckpoints) || lasts(row.length, every_, g.marks);
    if (!stays) pool_.drop(kept, i - 1);
  }
}

// Reserves rows for the end of the step and for the last checkpoints within it.
bool RowMemory::reserve(const Growth& g) {
  Rows& reserved = of(g.sequence).reserved;
  const std::int64_t last = (g.to - 1) / arch::kCheckpointEvery * arch::kCheckpointEvery;
  const std::int64_t oldest =
      std::max(g.from + 1, last - (arch::kCheckpoints - 1) * arch::kCheckpointEvery);
  const std::int64_t first =
      (oldest + arch::kCheckpointEvery - 1) / arch::kCheckpointEvery * arch::kCheckpointEvery;
  make_way(g, first > last ? 0 : (last - first) / arch::kCheckpointEvery + 1);
  bool has_all = true;
  for (std::int64_t length = first; length <= last; length += arch::kCheckpointEvery)
    has_all = has_all && pool_.take(reserved, length);
  if (!has_all || !take_for_rewind(g)) return false;
  if (g.to > g.from && !pool_.take(reserved, g.to)) return false;
  return true;
}

// Reserves rows for the checkpoints that last, as far as there are any: those that a step needs
// come first.
void RowMemory::reserve_lasting(const Growth& g) {
  Rows& reserved = of(g.sequence).reserved;
  const auto is_wanted = [&](std::int64_t length) {
    const bool inside = length > g.from && length < g.to;
    return inside && std::ranges::count(reserved, length, &Row::length) == 0;
  };
  const auto make_room = [&] {  // a new mark is worth more than what this gives up
    return thin(g.sequence, g.marks) || drop_old_mark(pool_, of(g.sequence).kept, g.marks);
  };
  for (const std::int64_t length : g.marks)
    while (is_wanted(length) && !pool_.take(reserved, length))
      if (!make_room()) break;
  for (std::int64_t at = g.from / every_ + 1; at * every_ < g.to; ++at)
    if (is_wanted(at * every_)) pool_.take(reserved, at * every_);
  std::ranges::sort(reserved, {}, &Row::length);
}

const Growth* RowMemory::reserve(std::span<const Growth> step) {
  const auto failed = std::ranges::find_if(step, [&](const Growth& g) { return !reserve(g); });
  if (failed != step.end()) return &*failed;
  if (keeps_lasting_) std::ranges::for_each(step, [&](const Growth& g) { reserve_lasting(g); });
  return nullptr;
}

// Drops every other one of the checkpoints that last: those at odd multiples of the largest power
// of two times MemorySizes::lasting_every that they have in common.
bool RowMemory::thin(std::int32_t sequence, std::span<const std::int64_t> marks) {
  Rows& kept = of(sequence).kept;
  const std::int64_t n_free = pool_.n_free();
  const std::int64_t last = kept.empty() ? 0 : kept.back().length;
  // Sequences that grow keep what they have without any room for more.
  const std::int64_t first_kept =
      sequence < n_growing_ ? (last - 1) / arch::kCheckpointEvery - arch::kCheckpoints + 1 : last;
  const auto may_go = [&](const Row& row) {
    const bool stays = row.length % arch::kCheckpointEvery == 0 &&
                       row.length / arch::kCheckpointEvery >= first_kept;
    return !stays && row.length < last - rewind_ && !std::ranges::binary_search(marks, row.length);
  };
  std::int64_t interval = every_;
  const auto is_odd = [&](const Row& row) { return row.length % (2 * interval) != 0; };
  if (!keeps_lasting_ || std::ranges::none_of(kept, may_go)) return false;
  while (std::ranges::none_of(kept, [&](const Row& r) { return may_go(r) && is_odd(r); }))
    interval *= 2;
  std::erase_if(kept, [&](const Row& row) {
    const bool goes = may_go(row) && is_odd(row);
    if (goes) pool_.release(row.row);
    return goes;
  });
  return pool_.n_free() > n_free;
}

void RowMemory::write_inputs(std::span<const TokenPlace> tokens, std::span<const Growth> step,
                             std::span<const InputValues> inputs) {
  const InputValues from = inputs[0], before = inputs[1], to = inputs[2];
  if (before.empty()) return;
  for (const Growth& g : step) of(g.sequence).seen = -1;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    Sequence& s = of(tokens[i].sequence);
    const std::int64_t length = tokens[i].position + 1;
    const std::int32_t first = s.seen < 0 && !s.kept.empty() ? s.kept.back().row : -1;
    before[i] = std::exchange(s.seen, static_cast<std::int32_t>(i));
    if (from.empty()) continue;  // the graph has no states
    from[i] = first;
    const Row* const row = last_until(s.reserved, length);
    to[i] = row && row->length == length ? row->row : -1;
  }
}

void RowMemory::append(std::span<const Growth> step) {
  for (const Growth& g : step) {
    Sequence& s = of(g.sequence);
    if (s.reserved.empty()) continue;
    if (!s.kept.empty() && s.kept.back().length % arch::kCheckpointEvery != 0 &&
        !lasts(s.kept.back().length, every_, g.marks))
      pool_.drop(s.kept, s.kept.size() - 1);
    s.kept.insert(s.kept.end(), s.reserved.begin(), s.reserved.end());
    s.reserved.clear();
  }
}

void RowMemory::truncate(std::int32_t sequence, std::int64_t length) {
  Rows& kept = of(sequence).kept;
  const auto after = std::ranges::upper_bound(kept, length, {}, &Row::length);
  pool_.release_after(kept, static_cast<std::size_t>(after - kept.begin()));
}

void RowMemory::copy(std::int32_t from, std::int32_t to, std::int64_t length) {
  pool_.release_after(of(to).kept, 0);
  const bool grows = to < n_growing_;
  for (const Row& row : of(from).kept) {
    if (row.length > length) break;
    const bool is_for_rewind = row.length % arch::kCheckpointEvery != 0 &&
                               row.length >= of(from).kept.back().length - rewind_;
    if (!grows && is_for_rewind && row.length < length) continue;
    pool_.share(row.row);
    of(to).kept.push_back(row);
  }
}

std::vector<std::int32_t> RowMemory::saved_rows(std::int32_t sequence, std::int64_t length) const {
  std::vector<std::int32_t> rows;
  for (const Row& row : of(sequence).kept)
    if (row.length <= length) rows.push_back(row.row);
  return rows;
}

std::vector<std::int64_t> RowMemory::saved_lengths(std::int32_t sequence,
                                                   std::int64_t length) const {
  std::vector<std::int64_t> lengths;
  for (const Row& row : of(sequence).kept)
    if (row.length <= length) lengths.push_back(row.length);
  return lengths;
}

std::int64_t RowMemory::restore_point(std::int64_t length, const Saved& saved) const {
  if (saved.lengths.empty()) return saved.n_rows > 0 && length == saved.length ? length : 0;
  const auto longer = std::ranges::upper_bound(saved.lengths, length);
  return longer == saved.lengths.begin() ? 0 : *std::prev(longer);
}

SequenceMemory::Range RowMemory::needed_rows(std::int64_t length, const Saved& saved) const {
  if (length == 0) return {};
  if (saved.lengths.empty()) return {0, 1};
  return {0, std::ranges::upper_bound(saved.lengths, length) - saved.lengths.begin()};
}

// Keeps as many of the earlier states as steps would have kept, or as there is room for: the
// session that saved them may have had a longer rewind.
std::vector<std::int32_t> RowMemory::replace(std::int32_t sequence, std::int64_t length,
                                             std::int64_t n_rows,
                                             std::span<const std::int64_t> lengths) {
  Rows& kept = of(sequence).kept;
  pool_.release_after(kept, 0);
  std::vector<std::int32_t> rows(static_cast<std::size_t>(n_rows), BlockPool::kNone);
  std::int64_t n_checkpoints = arch::kCheckpoints, n_rewind = rewind_;
  for (std::size_t i = rows.size(); i-- > 0;) {
    const bool is_last = i + 1 == rows.size();
    const std::int64_t of_row = is_last ? length : lengths[i];
    std::int64_t& room = of_row % arch::kCheckpointEvery == 0 ? n_checkpoints : n_rewind;
    if (!is_last && room-- <= 0 && !keeps_lasting_) continue;
    if (pool_.take(kept, of_row)) rows[i] = kept.back().row;
  }
  std::ranges::reverse(kept);
  return rows;
}

}  // namespace

std::unique_ptr<SequenceMemory> make_row_memory(const arch::MemoryPart& part,
                                                const MemoryLimits& limits, StateStore store) {
  return std::make_unique<RowMemory>(part, limits, std::move(store));
}

}  // namespace weft::run
