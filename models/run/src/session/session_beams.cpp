#include "weft/run/session_beams.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/run/session.h"
#include "weft/sample/beam_search.h"
#include "weft/sample/log_sum_exp.h"
#include "weft/sample/sampler.h"
#include "weft/tokenize/logits.h"

namespace weft {

SessionBeams::SessionBeams(Session& session, const std::atomic<bool>* cancel)
    : session_(session),
      cancel_(cancel),
      n_sequences_(static_cast<std::size_t>(session.options().sequences)),
      slot_of_{0},
      rows_(session.logits()),
      n_vocab_(rows_.size()) {
  const SessionOptions& o = session.options();
  if (o.sequences > std::min(o.prefill_width, o.logits_rows)) {
    fail<ValueError>("{} beams do not fit into steps of {} tokens and {} rows of logits",
                     o.sequences, o.prefill_width, o.logits_rows);
  }
}

std::span<const float> SessionBeams::logprobs(std::size_t beam) {
  const std::span row = rows_.subspan(beam * n_vocab_, n_vocab_);
  const double total = log_sum_exp(row);
  row_.resize(n_vocab_);
  TokenId end = kNoToken;
  for (std::size_t i = 0; i < n_vocab_; ++i) {
    row_[i] = static_cast<float>(row[i] - total);
    const auto id = static_cast<TokenId>(i);
    if (!SessionBeams::ends(beam, id)) continue;
    const bool likelier = end == kNoToken || row[i] > row[static_cast<std::size_t>(end)];
    const TokenId other = likelier ? std::exchange(end, id) : id;
    if (other != kNoToken) forbid({&other, 1}, row_);
  }
  return row_;
}

bool SessionBeams::ends(std::size_t, TokenId token) {
  return session_.model().vocabulary().ends_generation(token);
}

// Gives every chosen hypothesis a sequence with the contents of its origin. The first one that
// continues a sequence keeps it; the others get copies in sequences that no hypothesis continues.
void SessionBeams::move_to(std::span<const BeamStep> chosen) {
  constexpr std::size_t kNone = ~std::size_t{0};
  std::vector<std::size_t> slot_of(chosen.size(), kNone);
  std::vector<bool> taken(n_sequences_);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const std::size_t origin = slot_of_[chosen[i].beam];
    if (taken[origin]) continue;
    taken[origin] = true;
    slot_of[i] = origin;
  }
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (slot_of[i] != kNone) continue;
    const std::size_t origin = slot_of_[chosen[i].beam];
    const auto free = static_cast<std::size_t>(std::ranges::find(taken, false) - taken.begin());
    session_.copy(static_cast<std::int32_t>(origin), static_cast<std::int32_t>(free),
                  session_.length(static_cast<std::int32_t>(origin)));
    taken[free] = true;
    slot_of[i] = free;
  }
  slot_of_ = std::move(slot_of);
}

void SessionBeams::advance(std::span<const BeamStep> chosen) {
  if (chosen.size() > n_sequences_)
    fail<ValueError>("the session has {} sequences for {} beams", n_sequences_, chosen.size());
  move_to(chosen);
  std::vector<StepToken> step;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    step.push_back({.token = chosen[i].token,
                    .sequence = static_cast<std::int32_t>(slot_of_[i]),
                    .logits = true});
  }
  rows_ = session_.step(step, cancel_);
}

}  // namespace weft
