#include "memory/session_memory.h"

#include <algorithm>
#include <utility>

#include "weft/base/error.h"

#include "noise.h"

namespace weft::run {
namespace {

std::size_t index(std::int64_t sequence) {
  return static_cast<std::size_t>(sequence);
}

[[noreturn]] void refuse(std::int32_t sequence, std::int64_t length, const SequenceMemory& part) {
  fail<BudgetError>("no room for {} tokens in sequence {}: {}", length, sequence, part.room());
}

// Throws UnsupportedError unless the sequence can continue from this length.
void check_resumes(const SessionMemory& memory, std::int32_t sequence, std::int64_t length) {
  const std::int64_t point = memory.resume_point(sequence, length);
  if (point == length) return;
  fail<UnsupportedError>("sequence {} cannot continue from {} of its {} tokens, only from {}",
                         sequence, length, memory.length(sequence), point);
}

}  // namespace

SessionMemory::SessionMemory(const MemoryLimits& limits, std::int64_t step_tokens,
                             std::vector<std::unique_ptr<SequenceMemory>> parts)
    : limits_(limits),
      parts_(std::move(parts)),
      input_names_{"table_row"},
      lengths_(index(limits.sequences)),
      step_(step_tokens, limits.sequences) {
  for (const auto& part : parts_) {
    const std::vector<std::string> names = part->input_names();
    input_names_.insert(input_names_.end(), names.begin(), names.end());
    n_inputs_.push_back(names.size());
    for (const StateStore::State& state : part->store().states())
      states_.push_back({part.get(), &state});
  }
}

void SessionMemory::check_sequence(std::int64_t sequence) const {
  if (sequence < 0 || sequence >= n_sequences())
    fail<ValueError>("no sequence {}: the session has {}", sequence, n_sequences());
}

void SessionMemory::check_length(std::int64_t sequence, std::int64_t length) const {
  check_sequence(sequence);
  if (length < 0) fail<ValueError>("sequence {} cannot have {} tokens", sequence, length);
  if (length > limits_.context)
    fail<ValueError>("sequence {} would have {} tokens, its context holds {}", sequence, length,
                     limits_.context);
}

void SessionMemory::check_room(std::int32_t sequence, std::int64_t length) const {
  check_length(sequence, length);
  for (const auto& part : parts_) {
    if (!part->has_room({sequence, this->length(sequence), length}))
      refuse(sequence, length, *part);
  }
}

std::int64_t SessionMemory::free_positions() const {
  std::int64_t n = std::numeric_limits<std::int64_t>::max();
  for (const auto& part : parts_) n = std::min(n, part->free_positions());
  return n;
}

void SessionMemory::add_next(std::int32_t sequence) {
  check_sequence(sequence);
  check_length(sequence, step_.append(sequence, length(sequence)));
}

void SessionMemory::reserve() {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Growth* const failed = parts_[i]->reserve(step_.growths());
    if (!failed) continue;
    const Growth growth = *failed;
    for (std::size_t n = 0; n <= i; ++n) parts_[n]->rollback(step_.growths());
    refuse(growth.sequence, growth.to, *parts_[i]);
  }
}

void SessionMemory::append() {
  for (const auto& part : parts_) part->append(step_.growths());
  for (const Growth& g : step_.growths()) lengths_[index(g.sequence)] = g.to;
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
  check_resumes(*this, sequence, length);
  for (const auto& part : parts_) part->truncate(sequence, length);
  lengths_[index(sequence)] = length;
}

void SessionMemory::copy(std::int32_t from, std::int32_t to, std::int64_t length) {
  if (from == to) return truncate(to, length);
  check_resumes(*this, from, length);
  for (const auto& part : parts_) part->copy(from, to, length);
  lengths_[index(to)] = length;
}

std::int64_t SessionMemory::saved_bytes(std::int32_t sequence, std::size_t state) const {
  const auto& [part, s] = states_[state];
  return std::ssize(part->saved_rows(sequence, length(sequence))) * s->row_bytes();
}

void SessionMemory::save(std::int32_t sequence, std::size_t state,
                         const StateStore::Sink& sink) const {
  const auto& [part, s] = states_[state];
  for (const std::int32_t row : part->saved_rows(sequence, length(sequence)))
    part->store().read(*s, row, sink);
}

std::int64_t SessionMemory::resume_point_of_saved(std::int64_t length,
                                                  std::int64_t saved_length) const {
  const auto possible = [&](const auto& part) {
    return part->needed_rows(length, saved_length).possible;
  };
  while (length > 0 && !std::ranges::all_of(parts_, possible)) --length;
  return length;
}

// Replaces the sequence by one of `length` tokens. fill(state, n, bytes) provides the contents of
// the nth row of a state.
template <class Fill>
void SessionMemory::replace(std::int32_t sequence, std::int64_t length, Fill fill) {
  for (const auto& part : parts_) {
    if (!part->can_replace(sequence, length)) refuse(sequence, length, *part);
  }
  std::size_t i = 0;
  std::vector<std::byte> content;
  for (const auto& part : parts_) {
    const std::vector<std::int32_t> rows = part->replace(sequence, length);
    for (const StateStore::State& state : part->store().states()) {
      content.resize(static_cast<std::size_t>(state.row_bytes()));
      for (std::size_t n = 0; n < rows.size(); ++n) {
        fill(i, static_cast<std::int64_t>(n), std::span(content));
        part->store().write(state, rows[n], content);
      }
      ++i;
    }
  }
  lengths_[index(sequence)] = length;
}

void SessionMemory::restore(std::int32_t sequence, std::int64_t length, std::int64_t saved_length,
                            std::span<const std::span<const std::byte>> states) {
  check_length(sequence, length);
  const std::int64_t point = resume_point_of_saved(length, saved_length);
  if (point != length)
    fail<UnsupportedError>(
        "the saved state of {} tokens cannot continue from {} of them, only from {}", saved_length,
        length, point);
  if (states.size() != states_.size())
    fail<FormatError>("{} states were saved, the model has {}", states.size(), states_.size());
  for (std::size_t i = 0; i < states.size(); ++i) {
    const auto& [part, state] = states_[i];
    const std::int64_t n = part->needed_rows(length, saved_length).end * state->row_bytes();
    if (std::ssize(states[i]) < n)
      fail<FormatError>("'{}' was saved with {} bytes, {} tokens need {}", state->path,
                        states[i].size(), length, n);
  }
  replace(sequence, length, [&](std::size_t i, std::int64_t n, std::span<std::byte> row) {
    const auto [begin, end, possible] = states_[i].part->needed_rows(length, saved_length);
    const auto from = states[i].subspan(static_cast<std::size_t>(begin + n) * row.size());
    std::copy_n(from.begin(), row.size(), row.begin());
  });
}

void SessionMemory::fill_with_noise(std::int32_t sequence, std::int64_t length) {
  check_length(sequence, length);
  std::vector<Noise> noise;
  for (const State& s : states_) noise.emplace_back(s.state->spec.dtype);
  replace(sequence, length,
          [&](std::size_t i, std::int64_t, std::span<std::byte> row) { noise[i].fill(row); });
}

}  // namespace weft::run
