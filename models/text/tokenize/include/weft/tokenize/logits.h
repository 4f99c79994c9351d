#pragma once
// Rows of logits, one for each token of a vocabulary, from which some tokens must not be chosen.

#include <cstddef>
#include <limits>
#include <span>

#include "weft/tokenize/vocabulary.h"

namespace weft {

// The logit, or the log probability, of a token that must not be chosen.
inline constexpr float kForbidden = -std::numeric_limits<float>::infinity();

// Ids beyond the row, which may be that of a model with a shorter vocabulary, are skipped.
// REQUIRES: they are not negative.
inline void forbid(std::span<const TokenId> ids, std::span<float> row) {
  for (const TokenId id : ids)
    if (static_cast<std::size_t>(id) < row.size()) row[static_cast<std::size_t>(id)] = kForbidden;
}

}  // namespace weft
