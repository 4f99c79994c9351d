#pragma once
// What a text does at the end of its context. Beside `stop`, some of its tokens are dropped
// (weft/run/dropped_tokens.h), and it goes on: what follows is not what a longer context gives.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/run/session.h"
#include "weft/run/token_range.h"

namespace weft {

enum class ContextEnd : std::uint8_t {
  stop,    // the text ends
  shift,   // half of what follows the kept ones, the oldest, is dropped
  window,  // the same with few tokens at a time, so that most of the last ones stay
  evict,   // those with the longest keys, but neither the kept ones nor the newest quarter
};

std::vector<std::string> value_names(ContextEnd);
std::string name_of_value(ContextEnd end);
void set_by_name(ContextEnd& end, std::string_view option, std::string_view name);

struct ContextEndOptions {
  ContextEnd end = ContextEnd::stop;
  std::int64_t keep = 4;     // first tokens that are never dropped; -1: the prompt
  std::int64_t discard = 0;  // tokens that are dropped at once; 0: as `end` says
  std::int64_t cells = 0;    // evict: tokens that are left; 0: half of the context
};

// Throws UnsupportedError, with the model's path and the reason, if texts of the session cannot
// drop tokens in this way, and ValueError if its context is too small for it.
void check_context_end(const Session& session, const ContextEndOptions& options);

// The same as far as the model alone decides it, before a session loads it.
void check_context_end(const Model& model, const ContextEndOptions& options);

// Whether a text whose prompt has `n_prompt` tokens goes on when the context is full.
bool goes_on(const Session& session, const ContextEndOptions& options, std::int64_t n_prompt);

// The tokens that a sequence keeps, of which `n_prompt` are the prompt's: all of them if none can
// be dropped.
std::vector<TokenRange> kept_tokens(const Session& session, std::int32_t sequence,
                                    const ContextEndOptions& options, std::int64_t n_prompt);

}  // namespace weft
