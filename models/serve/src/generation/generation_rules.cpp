// The rules of a generation's texts: when they are made, and made again.
#include <utility>

#include "generation/generation_impl.h"

namespace weft {

using serve::impl_of;

void Generation::Impl::make_rules() {
  TextRulesOptions& o = options.rules;
  rules.reset();
  if (o.grammar && !o.tree) o.tree = std::make_shared<const TokenTree>(session.model().tokenizer());
  if (o.grammar || !o.stops.empty() || !o.banned.empty())
    rules.emplace(session.model().tokenizer(), o);
  rules_are_stale = false;
}

void Generation::Impl::set_grammar(std::shared_ptr<const Grammar> grammar,
                                   std::shared_ptr<const TokenTree> tree) {
  if (tree) options.rules.tree = std::move(tree);
  if (grammar == options.rules.grammar) return;
  options.rules.grammar = std::move(grammar);
  rules_are_stale = true;
}

void Generation::Impl::begin_rules() {
  if (heals() && options.rules.grammar) {
    TextRulesOptions healed = options.rules;
    healed.grammar = Grammar::with_prefix(healing->text(), *healed.grammar);
    rules.emplace(*tokenizer, healed);
    rules_are_healed = true;
  } else if (std::exchange(rules_are_healed, false) || rules_are_stale) {
    make_rules();
  } else if (rules) {
    rules->reset();
  }
}

namespace {
// To choose its next token.
bool needs_rules(const Generation::Impl& g) {
  return g.rules && g.has_begun && g.stopped == StopReason::none && !g.is_full() &&
         g.n_delivered == g.tokens.size();
}
}  // namespace

bool serve::rules_are_ready(Generation& generation) {
  const Generation::Impl& g = impl_of(generation);
  return !needs_rules(g) || g.rules->is_prepared();
}

bool serve::prepare_rules(Generation& generation, std::uint64_t steps) {
  Generation::Impl& g = impl_of(generation);
  if (!needs_rules(g)) return true;
  if (!g.rules->reach(steps)) return false;
  g.append_forced();
  return g.n_delivered < g.tokens.size() || g.rules->prepare(steps);
}

void check_generates(const Model& model) {
  const ModelFacts& facts = model.facts();
  if (facts.diffuses)
    fail<UnsupportedError>("{}: a diffusion language model does not write token by token",
                           model.file().path());
  if (!facts.gives_text() && !facts.encodes)
    fail<UnsupportedError>("{}: the model makes embeddings, not text (see weft embed)",
                           model.file().path());
}

}  // namespace weft
