#include "memory/session_memory.h"

#include <algorithm>
#include <utility>

#include "weft/base/error.h"
#include "weft/base/two_threads.h"

#include "memory/noise.h"

namespace weft::run {
namespace {

using Bytes = std::span<const std::byte>;

std::size_t index(std::int64_t sequence) {
  return static_cast<std::size_t>(sequence);
}

[[noreturn]] void refuse(std::int32_t sequence, std::int64_t length, const SequenceMemory& part) {
  fail<BudgetError>("no room for {} tokens in sequence {}: {}", length, sequence, part.room());
}

struct RowsToSave {
  std::vector<std::int32_t> rows;     // in order
  std::vector<std::int64_t> lengths;  // of rows that are states of a whole sequence
  std::int64_t first = 0;             // of other rows: the first one's number in the sequence
};

RowsToSave rows_to_save(const SequenceMemory& part, std::int32_t sequence,
                        const SavedRange& range) {
  RowsToSave saved{.rows = part.saved_rows(sequence, range.end),
                   .lengths = part.saved_lengths(sequence, range.end)};
  std::int64_t n_skipped = 0;
  if (const std::int64_t each = part.tokens_per_row(); each > 0) {
    const auto [least, most] = part.row_count(range.end);
    saved.first = most - std::ssize(saved.rows);
    const bool is_window = least < most;
    if (!(range.all_of_windows && is_window)) n_skipped = range.begin / each - saved.first;
  } else if (!range.all_of_windows) {
    n_skipped = std::ranges::upper_bound(saved.lengths, range.begin) - saved.lengths.begin();
    saved.lengths.erase(saved.lengths.begin(), saved.lengths.begin() + n_skipped);
  }
  n_skipped = std::clamp<std::int64_t>(n_skipped, 0, std::ssize(saved.rows));
  saved.rows.erase(saved.rows.begin(), saved.rows.begin() + n_skipped);
  saved.first += n_skipped;
  return saved;
}

// By part; those without states have none. REQUIRES: as many states as the memory has.
std::vector<SequenceMemory::Saved> saved_of_parts(
    std::span<const std::unique_ptr<SequenceMemory>> parts, std::int64_t saved_length,
    std::span<const SavedState> states) {
  std::vector<SequenceMemory::Saved> all;
  std::size_t i = 0;
  for (const auto& part : parts) {
    SequenceMemory::Saved saved{.length = saved_length};
    const auto of_part = part->store().states();
    if (!of_part.empty()) {
      saved.n_rows = states[i].n_bytes() / of_part[0].row_bytes();
      saved.lengths = states[i].lengths;
    }
    all.push_back(saved);
    i += of_part.size();
  }
  return all;
}

// Throws FormatError for states that no sequence of this memory can have.
void check_states(std::span<const SessionMemory::State> own, std::int64_t saved_length,
                  std::span<const SavedState> states) {
  if (states.size() != own.size())
    fail<FormatError>("{} states were saved, the model has {}", states.size(), own.size());
  for (std::size_t i = 0; i < states.size(); ++i) {
    const auto& [part, state] = own[i];
    const std::vector<std::int64_t>& lengths = states[i].lengths;
    const std::int64_t n_bytes = states[i].n_bytes(), n_rows = n_bytes / state->row_bytes();
    const auto is_uneven = [&](auto piece) { return std::ssize(piece) % state->row_bytes() != 0; };
    const bool by_length = !lengths.empty();
    const std::int64_t n_lengths = std::ssize(lengths);
    const auto [least, most] =
        by_length ? SequenceMemory::RowCount{n_lengths, n_lengths} : part->row_count(saved_length);
    if (n_rows < least || n_rows > most || std::ranges::any_of(states[i].pieces, is_uneven))
      fail<FormatError>("'{}' was saved with {} bytes, {} tokens have {} to {}", state->path,
                        n_bytes, saved_length, least * state->row_bytes(),
                        most * state->row_bytes());
    const bool differs = i > 0 && own[i - 1].part == part &&
                         (states[i - 1].lengths != lengths ||
                          states[i - 1].n_bytes() / own[i - 1].state->row_bytes() != n_rows);
    const auto is_not_longer = [](std::int64_t a, std::int64_t b) { return a >= b; };
    const bool ascends = std::ranges::adjacent_find(lengths, is_not_longer) == lengths.end();
    if (differs || !ascends ||
        (by_length && (lengths.front() < 1 || lengths.back() > saved_length)))
      fail<FormatError>("'{}' was saved after other numbers of tokens than the rest", state->path);
  }
}

}  // namespace

SessionMemory::SessionMemory(const MemoryLimits& limits, std::int64_t step_tokens,
                             std::vector<std::unique_ptr<SequenceMemory>> parts)
    : parts_(std::move(parts)),
      input_names_{"table_row"},
      lengths_(limits),
      marks_(index(limits.all())),
      step_(step_tokens, limits.sequences) {
  for (const auto& part : parts_) {
    const std::vector<std::string> names = part->input_names();
    input_names_.insert(input_names_.end(), names.begin(), names.end());
    n_inputs_.push_back(names.size());
    for (const StateStore::State& state : part->store().states())
      states_.push_back({part.get(), &state});
  }
}

void SessionMemory::check_room(std::int32_t sequence, std::int64_t length) const {
  lengths_.check_length(sequence, length);
  for (const auto& part : parts_) {
    if (!part->has_room({sequence, this->length(sequence), length}))
      refuse(sequence, length, *part);
  }
}

bool make_room(SessionMemory& memory, std::int32_t wants) {
  if (memory.thin(wants)) return true;
  for (std::int32_t s = 0; s < memory.lengths().n_growing(); ++s)
    if (s != wants && memory.thin(s)) return true;
  return false;
}

void SessionMemory::reserve() {
  for (Growth& g : step_.growths()) g.marks = marks_[index(g.sequence)];
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Growth* const failed = parts_[i]->reserve(step_.growths());
    if (!failed) continue;
    const Growth growth = *failed;
    for (std::size_t n = 0; n <= i; ++n) parts_[n]->rollback(step_.growths());
    if (make_room(*this, growth.sequence)) return reserve();
    refuse(growth.sequence, growth.to, *parts_[i]);
  }
}

void SessionMemory::append() {
  for (const auto& part : parts_) part->append(step_.growths());
  for (const Growth& g : step_.growths()) lengths_.set(g.sequence, g.to);
}

void SessionMemory::rollback() {
  for (const auto& part : parts_) part->rollback(step_.growths());
}

void SessionMemory::write_inputs(std::span<const InputValues> inputs) {
  const InputValues table_row = inputs[0];
  for (std::size_t i = 0; i < step_.tokens().size() && !table_row.empty(); ++i)
    table_row[i] = step_.tokens()[i].sequence;
  std::size_t done = 1;
  for (std::size_t i = 0; i < parts_.size(); done += n_inputs_[i++])
    parts_[i]->write_inputs(step_.tokens(), step_.growths(), inputs.subspan(done, n_inputs_[i]));
}

// Each kind may need an earlier length than the kinds before it.
std::int64_t SessionMemory::resume_point(std::int32_t sequence, std::int64_t length) const {
  for (std::int64_t before = -1; before != length;) {
    before = length;
    for (const auto& part : parts_) length = part->resume_point(sequence, length);
  }
  return length;
}

void SessionMemory::truncate(std::int32_t sequence, std::int64_t length) {
  for (const auto& part : parts_) part->truncate(sequence, length);
  lengths_.set(sequence, length);
  std::vector<std::int64_t>& marks = marks_[index(sequence)];
  marks.erase(std::ranges::upper_bound(marks, length), marks.end());
}

void SessionMemory::copy(std::int32_t from, std::int32_t to, std::int64_t length) {
  for (const auto& part : parts_) part->copy(from, to, length);
  lengths_.set(to, length);
  const std::vector<std::int64_t>& marks = marks_[index(from)];
  marks_[index(to)].assign(marks.begin(), std::ranges::upper_bound(marks, length));
}

void SessionMemory::mark(std::int32_t sequence, std::int64_t length) {
  std::vector<std::int64_t>& marks = marks_[index(sequence)];
  const auto at = std::ranges::lower_bound(marks, length);
  if (at == marks.end() || *at != length) marks.insert(at, length);
}

bool SessionMemory::thin(std::int32_t sequence) {
  std::vector<std::int64_t>& marks = marks_[index(sequence)];
  const auto free_rows = [&] {
    bool freed = false;
    for (const auto& part : parts_) freed |= part->thin(sequence, marks);
    return freed;
  };
  if (free_rows()) return true;
  while (!marks.empty()) {
    // The newest are worth most, and, of three or more, the first one: that is where most branches
    // of a text begin.
    const std::ptrdiff_t n = std::ssize(marks);
    const auto oldest = marks.begin() + (n > 2 ? 1 : 0);
    marks.erase(oldest, oldest + std::max<std::ptrdiff_t>(1, (n - 1) / 2));
    if (free_rows()) return true;
  }
  return false;
}

SavedShape SessionMemory::saved_shape(std::int32_t sequence, std::size_t state,
                                      const SavedRange& range) const {
  const auto& [part, s] = states_[state];
  RowsToSave saved = rows_to_save(*part, sequence, range);
  return {.n_bytes = std::ssize(saved.rows) * s->row_bytes(),
          .lengths = std::move(saved.lengths),
          .row_bytes = s->row_bytes(),
          .tokens_per_row = part->tokens_per_row(),
          .first_row = saved.first};
}

void SessionMemory::save(std::int32_t sequence, std::size_t state, const SavedRange& range,
                         const StateStore::Sink& sink) const {
  const auto& [part, s] = states_[state];
  for (const std::int32_t row : rows_to_save(*part, sequence, range).rows)
    part->store().read(*s, row, sink);
}

std::int64_t SessionMemory::resume_point_of_saved(std::int64_t length, std::int64_t saved_length,
                                                  std::span<const SavedState> states) const {
  if (states.size() != states_.size()) return 0;
  const std::vector<SequenceMemory::Saved> saved = saved_of_parts(parts_, saved_length, states);
  for (bool changed = true; changed;) {
    const std::int64_t wanted = length;
    for (std::size_t i = 0; i < parts_.size(); ++i)
      length = parts_[i]->restore_point(length, saved[i]);
    changed = length != wanted;
  }
  return length;
}

// Replaces the sequence by one of `length` tokens. fill(state, n, bytes) returns the contents of
// the nth row of a state, for which it may use `bytes`; for different states on different threads.
template <class Fill>
void SessionMemory::replace(std::int32_t sequence, std::int64_t length,
                            std::span<const NewRows> of_parts, Fill fill) {
  for (std::size_t p = 0; p < parts_.size(); ++p)
    if (!parts_[p]->can_replace(sequence, of_parts[p].n)) refuse(sequence, length, *parts_[p]);
  std::vector<std::vector<std::int32_t>> rows;  // by state
  std::vector<std::int64_t> begins;
  std::int64_t n_bytes = 0;
  bool on_host = true;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const auto own = parts_[p]->replace(sequence, length, of_parts[p].n, of_parts[p].lengths);
    for (const StateStore::State& state : parts_[p]->store().states()) {
      rows.push_back(own);
      begins.push_back(of_parts[p].begin);
      n_bytes += std::ssize(own) * state.row_bytes();
      on_host = on_host && state.host;
    }
  }
  on_two_threads(states_.size(), on_host ? n_bytes : 0, [&](std::size_t i) {
    const auto& [part, state] = states_[i];
    std::vector<std::byte> content(static_cast<std::size_t>(state->row_bytes()));
    for (std::size_t n = 0; n < rows[i].size(); ++n) {
      if (rows[i][n] < 0) continue;
      const std::int64_t at = begins[i] + static_cast<std::int64_t>(n);
      part->store().write(*state, rows[i][n], fill(i, at, std::span(content)));
    }
  });
  lengths_.set(sequence, length);
  marks_[index(sequence)].clear();
}

void SessionMemory::check_saved(std::int32_t sequence, std::int64_t length,
                                std::span<const std::int32_t> saved_tokens,
                                std::span<const SavedState> states) const {
  lengths_.check_length(sequence, length);
  check_states(states_, std::ssize(saved_tokens), states);
}

void SessionMemory::restore(std::int32_t sequence, std::int64_t length,
                            std::span<const std::int32_t> saved_tokens,
                            std::span<const SavedState> states) {
  const std::vector<SequenceMemory::Saved> saved =
      saved_of_parts(parts_, std::ssize(saved_tokens), states);
  std::vector<NewRows> rows;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const auto [begin, end] = parts_[i]->needed_rows(length, saved[i]);
    rows.push_back({begin, end - begin, saved[i].lengths});
  }
  replace(sequence, length, rows,
          [&](std::size_t i, std::int64_t n, std::span<std::byte> row) -> Bytes {
            std::size_t at = static_cast<std::size_t>(n) * row.size();
            auto piece = states[i].pieces.begin();
            for (; at >= piece->size(); ++piece) at -= piece->size();
            return piece->subspan(at, row.size());
          });
  for (const SequenceMemory::Saved& part : saved)  // whoever saved them wanted them
    for (const std::int64_t n : part.lengths)
      if (n < length && n % arch::kCheckpointEvery != 0) mark(sequence, n);
}

void SessionMemory::fill_with_noise(std::int32_t sequence, std::int64_t length) {
  lengths_.check_length(sequence, length);
  std::vector<Noise> noise;
  for (const State& s : states_) noise.emplace_back(s.state->spec.dtype);
  std::vector<NewRows> rows;
  for (const auto& part : parts_) rows.push_back({.n = part->row_count(length).least});
  replace(sequence, length, rows,
          [&](std::size_t i, std::int64_t, std::span<std::byte> row) -> Bytes {
            noise[i].fill(row);
            return row;
          });
}

}  // namespace weft::run
