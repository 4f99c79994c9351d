#pragma once
// Snapshots: what a session has of a part of a text. Those of consecutive parts form a chain, from
// which a sequence continues with the same bits as if its tokens had been computed. Texts with a
// common beginning share its snapshots.
//
// Threads: as functions of the session.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "weft/run/session.h"

namespace weft {

struct Snapshot {
  struct State {
    SavedShape shape;
    std::span<const std::byte> bytes;  // owned by whoever holds the snapshot
  };
  std::int64_t begin = 0;  // tokens of the text before it
  std::vector<std::int32_t> tokens;
  std::vector<State> states;  // in the order of the session

  std::int64_t end() const { return begin + std::ssize(tokens); }
};

enum class SnapshotKind : std::uint8_t {
  own_tokens,     // only what its tokens added, beside rows that they share with those before
  whole_windows,  // and all of windows that the sequence has: what is before may lack them
};

// The tokens begin .. end - 1 of a sequence, with their states in `bytes`, which is replaced. Of
// recurrent layers, only the states that the sequence still has after some of these tokens.
// REQUIRES: 0 <= begin < end <= length of the sequence; Session::why_not_saved() is empty.
Snapshot take_snapshot(const Session& session, std::int32_t sequence, std::int64_t begin,
                       std::int64_t end, SnapshotKind kind, std::vector<std::byte>& bytes);

// The bytes that the session has for so many tokens of a text, on average.
std::int64_t snapshot_bytes(const Session& session, std::int64_t n_tokens);

// In order. The first one begins at 0; each other one begins within the one before it, of which
// only the tokens before that belong to the text, or where it ends.
using SnapshotChain = std::span<const Snapshot* const>;

// The largest length up to n at which a sequence of the session can continue. Throws FormatError if
// these are not snapshots of one text for this session.
std::int64_t resume_point(const Session& session, SnapshotChain chain, std::int64_t n);

// Replaces the sequence by the first n tokens of the chain. Throws FormatError; BudgetError if
// there is no room; ValueError if its context is too short. After an exception it is unchanged.
// REQUIRES: n is a resume point.
void restore(Session& session, std::int32_t sequence, SnapshotChain chain, std::int64_t n);

}  // namespace weft
