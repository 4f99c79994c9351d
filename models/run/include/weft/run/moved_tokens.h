#pragma once
// Tokens that some sequence holds at one position, taken for the same tokens at another position of
// another sequence. Their cells are copied; keys that were rotated by their position (rope) are
// rotated by the difference, and rounded once more to the type of the cache.
//
// This is not what computing them gives: behind the first layer, keys and values depend on all
// tokens before them, which are others there. Some can be computed again in place. For that, the
// cells of the first two layers that have any are computed for all of them, and stay; the tokens
// whose cells of the second one differ most are then computed through all layers.
//
// The session does not remember which tokens were taken: those who save or share sequences do.
// Source: Yao et al. 2024, CacheBlend, arXiv:2405.16444.
//
// Threads: as functions of the session.

#include <atomic>
#include <cstdint>
#include <string>

#include "weft/run/session.h"

namespace weft {

// Why tokens of this session cannot be taken, such as "the model has recurrent states"; "": they
// can.
std::string why_not_moved(const Session& session);
// The same as far as the model alone decides it, before a session loads it.
std::string why_not_moved(const Model& model);

// The most that can be taken at once: SessionOptions::prefill_width, or, if windows forget what
// they no longer need, what they keep beyond (arch::kGuaranteedRewind).
std::int64_t max_moved_tokens(const Session& session);

struct MovedTokens {
  std::int32_t from = 0;   // any sequence
  std::int64_t begin = 0;  // the first of its tokens
  std::int64_t n = 0;      // 1 to max_moved_tokens()
};

// Appends these tokens to a sequence that grows. Returns false, and changes nothing, if `from`
// lacks some of their cells: those of windows, which it no longer needs. Throws UnsupportedError if
// why_not_moved(), ValueError for tokens that `from` does not have and for sequences whose scales
// of LoRAs differ, and like Session::step().
bool append_moved(Session& session, std::int32_t to, const MovedTokens& tokens);

// Computes the share (0 to 1, rounded up to whole tokens) of the last n tokens of the sequence
// again, in place, that differs most. Returns how many. With 0 nothing is computed. REQUIRES:
// append_moved() has just added them. Throws like Session::step(); if so, some of these tokens are
// computed again and others are not, and the sequence should be truncated.
std::int64_t repeat_most_changed(Session& session, std::int32_t sequence, std::int64_t n,
                                 double share, const std::atomic<bool>* cancel = nullptr);

}  // namespace weft
