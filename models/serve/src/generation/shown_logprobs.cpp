#include "weft/serve/shown_logprobs.h"

#include <algorithm>
#include <iterator>

namespace weft {

std::vector<TokenLogprobs> ShownLogprobs::push(const TokenLogprobs* row, std::int64_t n_unshown,
                                               StopReason stop) {
  if (row) held_.push_back(*row);
  // Every other end shows what was held back.
  const bool holds_back = stop == StopReason::none || stop == StopReason::stop_string;
  const std::int64_t n_kept = holds_back ? std::min(n_unshown, std::ssize(held_)) : 0;
  const auto first_kept = held_.end() - n_kept;
  std::vector<TokenLogprobs> shown(std::make_move_iterator(held_.begin()),
                                   std::make_move_iterator(first_kept));
  held_.erase(held_.begin(), stop == StopReason::none ? first_kept : held_.end());
  return shown;
}

}  // namespace weft
