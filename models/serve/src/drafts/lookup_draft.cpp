#include <algorithm>

#include "weft/base/error.h"
#include "weft/serve/draft.h"
#include "weft/tokenize/vocabulary.h"

#include "drafts/passages.h"

namespace weft {

LookupDraft::LookupDraft(std::size_t size, std::shared_ptr<serve::KeptTexts> kept)
    : kept_(std::move(kept)) {
  if (size == 0) fail<ValueError>("a look-up needs at least one token");
  text_ = std::make_unique<serve::Passages>(size);
  if (!kept_) kept_ = std::make_shared<serve::KeptTexts>(size);
}
LookupDraft::~LookupDraft() = default;

void LookupDraft::begin() {
  text_->clear();
}

void LookupDraft::ended(std::span<const TokenId> tokens) {
  kept_->add(tokens);
}

void LookupDraft::propose(const DraftRequest& request, std::vector<TokenId>& guesses) {
  for (const TokenId id : request.tokens.subspan(text_->tokens().size())) text_->add(id);
  const serve::Passages* in = text_.get();
  auto found = in->longest(request.tokens);
  const auto of_kept = kept_->passages().longest(request.tokens);
  if (of_kept.length > found.length) in = &kept_->passages(), found = of_kept;
  if (found.length == 0) return;
  const std::span<const TokenId> all = in->tokens();
  const std::size_t first = guesses.size();
  for (std::size_t i = 0; guesses.size() < request.max; ++i) {
    const std::size_t at = found.end + i;
    const bool repeats = in == text_.get() && at >= all.size();
    if (!repeats && (at >= all.size() || all[at] == kNoToken)) return;  // that text ended here
    guesses.push_back(repeats ? guesses[first + at - all.size()] : all[at]);
  }
}

}  // namespace weft
