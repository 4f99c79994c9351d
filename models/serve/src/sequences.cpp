// Operations of a generation on whole sequences: fork, save, restore.
#include "weft/base/error.h"
#include "weft/base/printable.h"

#include "generation_impl.h"

namespace weft {

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

Generation Generation::fork(std::int32_t to_sequence, std::optional<std::uint64_t> seed) const {
  const Impl& from = *impl_;
  if (to_sequence == from.sequence)
    fail<ValueError>("cannot fork sequence {} to itself", to_sequence);
  GenerationOptions options = from.options;
  if (seed) options.sampler.seed = *seed;
  options.lora_scales.reset();  // copied with the sequence
  Generation forked = Impl::with_rules(from.session, to_sequence, options, from.rules);
  Impl* const to = forked.impl_.get();
  from.session.copy(from.sequence, to_sequence, static_cast<std::int64_t>(from.n_fed));
  to->rules_are_healed = from.rules_are_healed;
  if (from.healing) to->healing.emplace(*from.healing);
  if (from.detokenizer) to->detokenizer.emplace(*from.detokenizer);
  to->source = from.source;
  to->must_encode = from.must_encode;
  to->tokens.reserve(from.tokens.capacity());
  to->tokens = from.tokens;
  to->n_prompt = from.n_prompt;
  to->n_reused = to->n_fed = from.n_fed;
  to->n_delivered = from.n_delivered;
  to->sampler = from.sampler;
  if (seed) to->sampler.reseed(*seed);
  to->n_seen = from.n_seen;
  to->may_look_ahead = from.may_look_ahead;
  to->has_begun = from.has_begun;
  to->stopped = from.stopped;
  to->unused_logits = from.unused_logits;
  return forked;
}

void Generation::adopt(std::vector<TokenId> held) {
  Impl& g = *impl_;
  if (std::ssize(held) != g.session.length(g.sequence))
    fail<ValueError>("sequence {} has {} tokens, not {}", g.sequence, g.session.length(g.sequence),
                     held.size());
  g.tokens = std::move(held);
  g.n_prompt = g.n_fed = g.n_delivered = g.n_seen = g.tokens.size();
  g.has_begun = false;
  g.stopped = StopReason::cancelled;
}

void Generation::save(const std::string& path, std::string_view note) const {
  save_sequence(impl_->session, impl_->sequence, held(), note, path);
}

void Generation::restore(const SavedSequence& saved, std::int64_t n_tokens) {
  Impl& g = *impl_;
  const std::int64_t n_vocab = g.session.model().facts().n_vocab;
  for (const TokenId id : saved.tokens()) {
    if (id < 0 || id >= n_vocab)
      fail<FormatError>("{}: token {} is outside the vocabulary of {}",
                        printable_path(saved.name()), id, n_vocab);
  }
  saved.restore(g.session, g.sequence, n_tokens);
  const auto tokens = std::span(saved.tokens()).first(static_cast<std::size_t>(n_tokens));
  adopt({tokens.begin(), tokens.end()});
}

}  // namespace weft
