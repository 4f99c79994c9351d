#pragma once
// What a session has of a sequence beside its tokens, as bytes, state by state, 0 .. n_states() -
// 1: those of all parties (memory/per_sequence.h), one after the other. saved_sequence.cpp writes
// them to a file.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "weft/run/session.h"

#include "memory/per_sequence.h"

namespace weft::run {

std::size_t n_states(const Session& session);
SavedShape saved_shape(const Session& session, std::int32_t sequence, std::size_t state,
                       const SavedRange& range);
// Passes a state to `write` piece by piece. REQUIRES: Session::why_not_saved() is empty.
void save_state(const Session& session, std::int32_t sequence, std::size_t state,
                const SavedRange& range,
                const std::function<void(std::span<const std::byte>)>& write);
// The largest length up to `length` that restore_states() accepts. REQUIRES: 0 <= length <=
// saved_length.
std::int64_t resume_point_of_saved(const Session& session, std::int64_t length,
                                   std::int64_t saved_length, std::span<const SavedState> states);
// Replaces the sequence by the first `length` tokens of one that had `saved_tokens` when its states
// were saved. Throws ValueError like Session::feed(), UnsupportedError if `length` is not a resume
// point of the saved sequence, FormatError if the states have other sizes or lengths, BudgetError
// if the states do not fit; the sequence is then unchanged. REQUIRES: the lengths of a state
// ascend.
void restore_states(Session& session, std::int32_t sequence, std::int64_t length,
                    std::span<const std::int32_t> saved_tokens, std::span<const SavedState> states);

}  // namespace weft::run
