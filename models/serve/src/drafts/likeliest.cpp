#include "drafts/likeliest.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/base/error.h"
#include "weft/sample/sampler.h"
#include "weft/serve/text_rules.h"

namespace weft::serve {
namespace {

float probability(std::span<const float> logits, float best) {
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit - best));
  return static_cast<float>(1 / sum);
}

// Steps of the rules for the first guess, half as many for each further one: costly guesses are
// given up rather than keep the text waiting.
constexpr std::uint64_t kMaxSteps = 100'000;

}  // namespace

bool Likeliest::add(std::span<const float> logits, const DraftRequest& request,
                    std::vector<TokenId>& guesses) {
  if (logits.empty() || guesses.size() >= request.max) return false;
  const bool restricted = request.rules && request.rules->restricts();
  if (restricted && ids_.empty()) row_.assign(logits.begin(), logits.end());
  if (restricted && !ids_.empty()) {
    row_.assign(static_cast<std::size_t>(vocabulary_.size()),
                -std::numeric_limits<float>::infinity());
    for (std::size_t i = 0; i < ids_.size(); ++i)
      row_[static_cast<std::size_t>(ids_[i])] = logits[i];
  }
  std::size_t index = 0;
  try {
    if (restricted) {
      const std::uint64_t steps = kMaxSteps >> std::min<std::size_t>(guesses.size(), 16);
      if (!request.rules->prepare(steps, false)) return false;
      request.rules->restrict(row_);
      logits = row_;
    }
    index = static_cast<std::size_t>(likeliest(logits));
  } catch (const ValueError&) {  // the draft lacks the tokens that the rules allow
    return false;
  }
  const TokenId id = restricted || ids_.empty() ? static_cast<TokenId>(index) : ids_[index];
  if (id < vocabulary_.size() && vocabulary_.ends_generation(id)) return false;
  if (p_min_ > 0 && probability(logits, logits[index]) < p_min_) return false;
  const bool over = request.rules && request.rules->accept(id);
  guesses.push_back(id);
  return !over && guesses.size() < request.max;
}

}  // namespace weft::serve
