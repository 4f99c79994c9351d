#pragma once
// A sequence that loses some of its tokens, so that it can grow further. The others move up: their
// cells stay what they are, and keys that were rotated by their position (rope) are rotated by the
// difference, and rounded once more to the type of the cache. Nothing is computed again.
//
// This is not what computing the remaining tokens gives: behind the first layer, their keys and
// values still depend on the tokens that are gone.
//
// The session does not remember that tokens were dropped: those who save or share sequences do.
//
// Threads: as functions of the session.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/run/session.h"
#include "weft/run/token_range.h"

namespace weft {

// Why sequences of this session cannot drop tokens, such as "the model has recurrent states"; "":
// they can.
std::string why_not_dropped(const Session& session);

// The same as far as the model alone decides it, before a session loads it.
std::string why_not_dropped(const Model& model);

// How many of the last tokens have to stay together at least, as windows of layers need them.
std::int64_t min_newest_tokens(const Session& session);

// Leaves a sequence that grows only the tokens of these ranges, which ascend, are not empty and do
// not overlap: as many as are kept, from position 0 on. What other sequences share with it is
// copied before it changes. Throws UnsupportedError if why_not_dropped(), ValueError for ranges
// that the sequence does not have and for fewer newest tokens than min_newest_tokens(), unless
// nothing is dropped before them, and BudgetError if there is no room for copies; the sequence is
// then unchanged.
void drop_tokens(Session& session, std::int32_t sequence, std::span<const TokenRange> kept);

// Whether layers that see all tokens rotate their keys: those of others cannot be told from values.
bool has_measured_keys(const Session& session);

// For each token of a sequence, the mean of the lengths (L2 norms) of its keys, over all heads of
// the layers that see all tokens. A rotation does not change it. Tokens with short keys are those
// that later ones attend to most. Empty unless has_measured_keys().
// Source: Devoto et al. 2024, A Simple and Effective L2 Norm-Based Strategy for KV Cache
// Compression, arXiv:2406.11430.
std::vector<float> key_lengths(const Session& session, std::int32_t sequence);

}  // namespace weft
