#include "drafts/likeliest.h"

#include <algorithm>
#include <cmath>

#include "weft/serve/text_rules.h"

namespace weft::serve {
namespace {

float probability(std::span<const float> logits, float best) {
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit - best));
  return static_cast<float>(1 / sum);
}

}  // namespace

bool Likeliest::add(std::span<const float> logits, const DraftRequest& request,
                    std::vector<TokenId>& guesses) {
  if (logits.empty() || guesses.size() >= request.max) return false;
  if (request.rules && request.rules->restricts()) {
    row_.assign(logits.begin(), logits.end());
    request.rules->restrict(row_);
    logits = row_;
  }
  const auto best = std::ranges::max_element(logits);
  const auto id = static_cast<TokenId>(best - logits.begin());
  if (id < vocabulary_.size() && vocabulary_.ends_generation(id)) return false;
  if (p_min_ > 0 && probability(logits, *best) < p_min_) return false;
  const bool over = request.rules && request.rules->accept(id);
  guesses.push_back(id);
  return !over && guesses.size() < request.max;
}

}  // namespace weft::serve
