#include "weft/serve/beam_texts.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/run/session_beams.h"
#include "weft/tokenize/logits.h"

#include "generation/generation_impl.h"

namespace weft {

using serve::impl_of;

namespace {

// Hypotheses under the rules of a generation.
class RuledBeams : public SessionBeams {
 public:
  explicit RuledBeams(const Generation::Impl& from)
      : SessionBeams(from.session, from.cancel), end_tokens_(from.end_tokens) {
    if (from.options.min_tokens > 0 || !from.options.stop_tokens.empty())
      fail<UnsupportedError>("beam search with min_tokens or stop_tokens is not supported");
    if (from.options.context_end.end != ContextEnd::stop)
      fail<UnsupportedError>("texts of a beam search end when the context is full");
    if (from.rules) rules_.push_back(*from.rules);
  }

  std::span<const float> logprobs(std::size_t beam) override {
    const std::span<const float> row = SessionBeams::logprobs(beam);
    const bool restricted = !rules_.empty() && rules_[beam].restricts();
    if (!restricted && end_tokens_.empty()) return row;
    row_.assign(row.begin(), row.end());
    forbid(end_tokens_, row_);
    if (!restricted) return row_;
    try {
      rules_[beam].restrict(row_);
    } catch (const ValueError&) {  // this hypothesis cannot continue; others may
      row_.assign(row.size(), kForbidden);
    }
    return row_;
  }

  bool ends(std::size_t beam, TokenId token) override {
    if (SessionBeams::ends(beam, token)) return true;
    if (rules_.empty()) return false;
    TextRules rules = rules_[beam];
    return rules.accept(token) || rules.at_stop();
  }

  void advance(std::span<const BeamStep> chosen) override {
    SessionBeams::advance(chosen);
    if (rules_.empty()) return;
    std::vector<TextRules> next;
    for (const BeamStep& step : chosen) {
      next.push_back(rules_[step.beam]);
      next.back().accept(step.token);
    }
    rules_ = std::move(next);
  }

 private:
  const std::vector<TokenId>& end_tokens_;
  std::vector<TextRules> rules_;  // by hypothesis; empty if there are none
  std::vector<float> row_;
};

std::string text_of(const Generation::Impl& from, const Hypothesis& found) {
  if (!from.tokenizer) return "";
  std::vector<TokenId> tokens = found.tokens;
  if (!tokens.empty() && from.session.model().vocabulary().ends_generation(tokens.back()))
    tokens.pop_back();
  const std::string text = from.tokenizer->decode(tokens, from.options.decode);
  if (!from.rules) return text;
  TextRules rules = *from.rules;
  std::string shown;
  rules.show(text, shown);
  rules.flush(shown);
  return shown;
}

}  // namespace

BeamTexts search_texts(Generation& generation, BeamOptions options) {
  Generation::Impl& from = impl_of(generation);
  if (from.sequence != 0) fail<ValueError>("a beam search must start in sequence 0");
  if (from.stopped != StopReason::none || from.n_new() > 0)
    fail<ValueError>("a beam search needs a prompt without new tokens");
  if (from.heals()) fail<ValueError>("a beam search cannot be combined with token healing");
  BeamTexts result;
  if (!generation.prefill()) {
    result.cancelled = true;
    from.stopped = StopReason::cancelled;
    return result;
  }
  // The last token is chosen, but not fed.
  const std::int64_t room = from.session.options().context - std::ssize(from.tokens) + 1;
  const std::int64_t max_tokens = from.options.max_tokens;
  options.max_tokens = max_tokens >= 0 ? std::min(max_tokens, room) : room;
  RuledBeams model(from);
  BeamSearch search(model, options);
  try {
    while (!*from.cancel && search.step()) {
    }
  } catch (const CancelledError&) {
    result.cancelled = true;
  }
  result.cancelled |= *from.cancel;
  result.n_steps = search.n_tokens();
  for (const Hypothesis& found : search.best())
    result.best.push_back({found, text_of(from, found)});
  from.stopped = result.cancelled ? StopReason::cancelled : StopReason::max_tokens;
  from.n_fed =
      static_cast<std::size_t>(from.session.resume_point(0, static_cast<std::int64_t>(from.n_fed)));
  from.session.truncate(0, static_cast<std::int64_t>(from.n_fed));
  return result;
}

}  // namespace weft
