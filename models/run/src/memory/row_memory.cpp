// One row per sequence of any length: states of recurrent layers. A row is written once and only
// read from then on, so that sequences can share rows, and rows of earlier lengths serve as
// checkpoints.
#include <algorithm>

#include "weft/base/error.h"

#include "memory/block_pool.h"
#include "memory/memory_kinds.h"

namespace weft::run {
namespace {

class RowMemory final : public SequenceMemory {
 public:
  RowMemory(const arch::MemoryPart& part, const MemoryLimits& limits, StateStore store)
      : SequenceMemory(std::move(store)),
        suffix_(part.suffix),
        rewind_(part.n_rows / limits.sequences - (arch::kCheckpoints + 2)),
        pool_(part.n_rows),
        sequences_(static_cast<std::size_t>(limits.sequences)) {
    for (Sequence& s : sequences_) {
      s.kept.reserve(static_cast<std::size_t>(arch::kCheckpoints + 2 + rewind_));
      s.reserved.reserve(s.kept.capacity());
    }
  }

  std::vector<std::string> input_names() const override {
    return {"rows_from" + suffix_, "before" + suffix_, "rows_to" + suffix_};
  }
  // There are enough rows for every step (arch/src/decoder/memory.cpp).
  bool has_room(const Growth&) const override { return true; }
  std::string room() const override {
    return fmt::format("{} of the {} rows are free", pool_.n_free(), pool_.n_blocks());
  }
  const Growth* reserve(std::span<const Growth> step) override;
  void write_inputs(std::span<const TokenPlace> tokens, std::span<const Growth> step,
                    std::span<const InputValues> inputs) override;
  void append(std::span<const Growth> step) override;
  void rollback(std::span<const Growth> step) override {
    for (const Growth& g : step) release(of(g.sequence).reserved, 0);
  }

  std::int64_t resume_point(std::int32_t sequence, std::int64_t length) const override {
    const Row* const row = last_until(of(sequence).kept, length);
    return row ? row->length : 0;
  }
  void truncate(std::int32_t sequence, std::int64_t length) override;
  void copy(std::int32_t from, std::int32_t to, std::int64_t length) override;

  std::vector<std::int32_t> saved_rows(std::int32_t sequence, std::int64_t length) const override;
  std::vector<std::int64_t> saved_lengths(std::int32_t sequence,
                                          std::int64_t length) const override;
  std::int64_t min_rows(std::int64_t length) const override { return length > 0 ? 1 : 0; }
  std::int64_t max_rows(std::int64_t length) const override { return min_rows(length); }
  std::int64_t restore_point(std::int64_t length, const Saved& saved) const override;
  Range needed_rows(std::int64_t length, const Saved& saved) const override;
  bool can_replace(std::int32_t, std::int64_t) const override { return true; }
  std::vector<std::int32_t> replace(std::int32_t sequence, std::int64_t length, std::int64_t n_rows,
                                    std::span<const std::int64_t> lengths) override;

 private:
  // The state of a sequence after its first `length` tokens.
  struct Row {
    std::int64_t length = 0;
    std::int32_t row = BlockPool::kNone;
  };
  using Rows = std::vector<Row>;  // by ascending length
  struct Sequence {
    Rows kept;              // checkpoints, then the current state; empty: no tokens
    Rows reserved;          // rows for the reserved step
    std::int32_t seen = 0;  // write_inputs(): the last token of the step so far
  };

  Sequence& of(std::int32_t sequence) { return sequences_[static_cast<std::size_t>(sequence)]; }
  const Sequence& of(std::int32_t sequence) const {
    return sequences_[static_cast<std::size_t>(sequence)];
  }
  static const Row* last_until(const Rows& rows, std::int64_t length) {
    const auto after = std::ranges::upper_bound(rows, length, {}, &Row::length);
    return after == rows.begin() ? nullptr : &*std::prev(after);
  }
  // Releases all but the first n.
  void release(Rows& rows, std::size_t n) {
    for (; rows.size() > n; rows.pop_back()) pool_.release(rows.back().row);
  }
  void drop(Rows& rows, std::size_t i) {
    pool_.release(rows[i].row);
    rows.erase(rows.begin() + std::ptrdiff_t(i));
  }
  void take(Rows& rows, std::int64_t length) { rows.push_back({length, pool_.take()}); }

  void take_for_rewind(const Growth& g);

  const std::string suffix_;
  const std::int64_t rewind_;  // MemorySizes::rewind
  BlockPool pool_;
  std::vector<Sequence> sequences_;
};

// Rows for the states before each of the last tokens, if the step is one with guesses. REQUIRES: it
// has reserved the checkpoints in it.
void RowMemory::take_for_rewind(const Growth& g) {
  if (g.to - g.from > rewind_ + 1) return;
  Rows& reserved = of(g.sequence).reserved;
  for (std::int64_t length = g.from + 1; length < g.to; ++length)
    if (length % arch::kCheckpointEvery != 0) take(reserved, length);
  std::ranges::sort(reserved, {}, &Row::length);
}

// Reserves rows for the end of the step and for the last checkpoints within it. Older checkpoints
// are released now, so that there are always enough rows; a step that fails loses only these.
const Growth* RowMemory::reserve(std::span<const Growth> step) {
  for (const Growth& g : step) {
    Sequence& s = of(g.sequence);
    for (std::size_t i = s.kept.size(); i-- > 1;)  // those for the rewind of the last step
      if (s.kept[i - 1].length % arch::kCheckpointEvery != 0) drop(s.kept, i - 1);
    const std::int64_t last = (g.to - 1) / arch::kCheckpointEvery * arch::kCheckpointEvery;
    const std::int64_t oldest =
        std::max(g.from + 1, last - (arch::kCheckpoints - 1) * arch::kCheckpointEvery);
    const std::int64_t first =
        (oldest + arch::kCheckpointEvery - 1) / arch::kCheckpointEvery * arch::kCheckpointEvery;
    const std::int64_t n = first > last ? 0 : (last - first) / arch::kCheckpointEvery + 1;
    while (s.kept.size() > 1 && std::ssize(s.kept) + n > arch::kCheckpoints + 1) drop(s.kept, 0);
    for (std::int64_t i = 0; i < n; ++i) take(s.reserved, first + i * arch::kCheckpointEvery);
    take_for_rewind(g);
    if (g.to > g.from) take(s.reserved, g.to);
  }
  return nullptr;
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
    if (!s.kept.empty() && s.kept.back().length % arch::kCheckpointEvery != 0)
      drop(s.kept, s.kept.size() - 1);
    s.kept.insert(s.kept.end(), s.reserved.begin(), s.reserved.end());
    s.reserved.clear();
  }
}

void RowMemory::truncate(std::int32_t sequence, std::int64_t length) {
  Rows& kept = of(sequence).kept;
  const auto after = std::ranges::upper_bound(kept, length, {}, &Row::length);
  release(kept, static_cast<std::size_t>(after - kept.begin()));
}

void RowMemory::copy(std::int32_t from, std::int32_t to, std::int64_t length) {
  release(of(to).kept, 0);
  for (const Row& row : of(from).kept) {
    if (row.length > length) break;
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
  if (saved.lengths.empty()) return length == saved.length ? length : 0;
  const auto longer = std::ranges::upper_bound(saved.lengths, length);
  return longer == saved.lengths.begin() ? 0 : *std::prev(longer);
}

SequenceMemory::Range RowMemory::needed_rows(std::int64_t length, const Saved& saved) const {
  if (length == 0) return {};
  if (saved.lengths.empty()) return {0, 1};
  return {0, std::ranges::upper_bound(saved.lengths, length) - saved.lengths.begin()};
}

// Keeps as many of the earlier states as steps would have kept: the session that saved them may
// have had a longer rewind.
std::vector<std::int32_t> RowMemory::replace(std::int32_t sequence, std::int64_t length,
                                             std::int64_t n_rows,
                                             std::span<const std::int64_t> lengths) {
  Rows& kept = of(sequence).kept;
  release(kept, 0);
  std::vector<std::int32_t> rows(static_cast<std::size_t>(n_rows), BlockPool::kNone);
  std::int64_t n_checkpoints = arch::kCheckpoints, n_rewind = rewind_;
  for (std::size_t i = rows.size(); i-- > 0;) {
    const bool is_last = i + 1 == rows.size();
    const std::int64_t of_row = is_last ? length : lengths[i];
    std::int64_t& room = of_row % arch::kCheckpointEvery == 0 ? n_checkpoints : n_rewind;
    if (!is_last && room-- <= 0) continue;
    take(kept, of_row);
    rows[i] = kept.back().row;
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
