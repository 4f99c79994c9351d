// Operations of a generation on whole sequences: fork, save, restore, removing guesses.
#include <algorithm>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/run/dropped_tokens.h"

#include "generation/generation_impl.h"

namespace weft {

using serve::impl_of;

Generation Generation::Impl::with_rules(Session& session, std::int32_t sequence,
                                        const GenerationOptions& options,
                                        const std::optional<TextRules>& rules) {
  GenerationOptions without = options;
  without.rules = {};
  auto made = std::make_unique<Impl>(session, sequence, without);
  made->options.rules = options.rules;
  if (rules) made->rules.emplace(*rules);
  return Generation(std::move(made));
}

Generation Generation::fork(std::int32_t to_sequence, std::optional<std::uint64_t> seed,
                            std::function<bool(TokenId)> shows_control) const {
  const Impl& from = *impl_;
  if (to_sequence == from.sequence)
    fail<ValueError>("cannot fork sequence {} to itself", to_sequence);
  GenerationOptions options = from.options;
  if (seed) options.sampler.seed = *seed;
  if (shows_control) options.shows_control = std::move(shows_control);
  options.lora_scales.reset();  // copied with the sequence
  options.draft.reset();        // it follows one text
  Generation forked = Impl::with_rules(from.session, to_sequence, options, from.rules);
  Impl* const to = forked.impl_.get();
  from.session.copy(from.sequence, to_sequence, static_cast<std::int64_t>(from.n_fed));
  to->rules_are_healed = from.rules_are_healed;
  to->rules_are_stale = from.rules_are_stale;
  if (from.healing) to->healing.emplace(*from.healing);
  if (from.detokenizer) to->detokenizer.emplace(*from.detokenizer);
  to->source = from.source;
  to->must_encode = from.must_encode;
  to->tokens.reserve(from.tokens.capacity());
  to->tokens = from.tokens;
  to->n_prompt = from.n_prompt;
  to->n_reused = to->n_fed = from.n_fed;
  to->n_delivered = from.n_delivered;
  to->n_dropped = from.n_dropped;
  to->n_new_dropped = from.n_new_dropped;
  to->n_exact = from.n_exact;
  to->sampler = from.sampler;
  if (seed) to->sampler.reseed(*seed);
  to->n_seen = from.n_seen;
  to->may_look_ahead = from.may_look_ahead;
  to->has_begun = from.has_begun;
  to->stopped = from.stopped;
  to->unused_logits = from.unused_logits;
  if (const auto row = from.guesses.row(); !row.empty())
    to->unused_logits.assign(row.begin(), row.end());
  to->prompt_rows = from.prompt_rows;
  return forked;
}

void Generation::move_to(std::int32_t sequence) {
  Impl& g = *impl_;
  Session& session = g.session;
  if (!g.has_begun) fail<ValueError>("the generation has no prompt: call begin() first");
  g.guesses.drop(g);
  const std::vector<float> scales(session.lora_scales(g.sequence).begin(),
                                  session.lora_scales(g.sequence).end());
  const bool usable = std::ranges::equal(session.lora_scales(sequence), scales) &&
                      !session.mixes_lora_scales(sequence) && !session.model().facts().encodes;
  const std::int64_t same = session.common_prefix(sequence, g.tokens);
  // The last token is fed again, for its logits, as are those of the prompt that lack logprobs.
  std::int64_t n = usable ? std::min(same, std::ssize(g.tokens) - 1) : 0;
  if (g.wants_prompt_row(g.prompt_rows.size())) n = std::min(n, std::ssize(g.prompt_rows));
  n = session.resume_point(sequence, n);
  session.truncate(sequence, n);
  session.set_lora_scales(sequence, scales);
  g.sequence = sequence;
  g.n_fed = static_cast<std::size_t>(n);
  g.must_encode = session.model().facts().encodes;
  g.n_exact = -1;
  g.unused_logits.clear();
}

namespace serve {
namespace {

// Removes the tokens that the sequence has lost from the text.
void forget_dropped(Generation::Impl& text, std::span<const TokenRange> kept) {
  const std::int64_t n_before = std::ssize(text.tokens);
  const auto prompt = static_cast<std::int64_t>(text.n_prompt);
  const auto begin = text.tokens.begin();
  std::int64_t end = 0, n_of_prompt = 0, n_same = 0;
  for (const auto& [first, last] : kept) {
    if (first == end) n_same = last;
    n_of_prompt += std::max<std::int64_t>(0, std::min(last, prompt) - first);
    std::copy(begin + first, begin + last, begin + end);
    end += last - first;
  }
  text.tokens.erase(begin + end, begin + static_cast<std::ptrdiff_t>(text.n_fed));
  const std::int64_t n = n_before - std::ssize(text.tokens);
  text.n_dropped += n;
  text.n_new_dropped += n - (prompt - n_of_prompt);
  text.n_prompt = static_cast<std::size_t>(n_of_prompt);
  text.n_fed = static_cast<std::size_t>(end);
  text.n_delivered -= static_cast<std::size_t>(n);
  text.n_seen -= static_cast<std::size_t>(n);
  text.n_exact = text.n_exact < 0 ? n_same : std::min(text.n_exact, n_same);
}

}  // namespace

bool needs_drop(const Generation::Impl& text) {
  const std::int64_t context = text.session.options().context;
  return std::ssize(text.tokens) > context && text.session.length(text.sequence) >= context &&
         !ends_with_context(text);
}

void drop_old_tokens(Generation::Impl& text) {
  if (needs_drop(text)) drop_held_tokens(text);
}

bool drop_held_tokens(Generation::Impl& text) {
  text.guesses.drop(text);
  std::vector<TokenRange> kept = kept_tokens(text.session, text.sequence, text.options.context_end,
                                             static_cast<std::int64_t>(text.n_prompt));
  if (kept.back() == TokenRange{0, text.session.length(text.sequence)}) return false;
  drop_tokens(text.session, text.sequence, kept);
  forget_dropped(text, kept);
  text.drops.push_back(std::move(kept));
  if (text.options.draft) text.options.draft->begin();  // to it, this is another text
  return true;
}

}  // namespace serve

std::int64_t n_dropped(const Generation& text) {
  return serve::GenerationAccess::impl(text).n_dropped;
}

void keep_exact(Generation& text) {
  Generation::Impl& g = impl_of(text);
  if (g.n_exact < 0) return;
  g.guesses.drop(g);
  g.session.truncate(g.sequence, g.session.resume_point(g.sequence, g.n_exact));
  g.end_without_text();
}

std::int64_t n_guessed(Generation& text) {
  return impl_of(text).guesses.count();
}

void drop_guesses(Generation& text) {
  impl_of(text).guesses.set_aside(impl_of(text));
}

void Generation::save(const std::string& path, std::string_view note) {
  impl_->guesses.set_aside(*impl_);
  if (impl_->n_exact >= 0)
    fail<UnsupportedError>(
        "the text has dropped tokens: it is not what computing its tokens gives, and is not saved");
  save_sequence(impl_->session, impl_->sequence, note, path);
}

void Generation::restore(const SavedSequence& saved, std::int64_t n_tokens) {
  Impl& g = *impl_;
  saved.restore(g.session, g.sequence, n_tokens);
  g.end_without_text();
}

}  // namespace weft
