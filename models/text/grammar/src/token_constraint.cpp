// The tokens that a state of a rule allows do not depend on the caller of the rule, as long as the
// rule does not end within the token: they are computed once per state and kept. If it does end,
// the rest of the token is walked with the states after the call.

#include "weft/grammar/token_constraint.h"

#include <algorithm>
#include <unordered_map>

#include "weft/base/error.h"
#include "weft/tokenize/logits.h"

#include "matcher.h"

namespace weft {
namespace {

using namespace grammar;
using Bits = std::vector<std::uint64_t>;

constexpr std::size_t kMaxMatcher = std::size_t{64} << 20;
constexpr std::size_t kMaxMasks = std::size_t{32} << 20;  // bytes, of either cache
// More states than this are walked together, because their texts begin alike: the names of an
// object's members.
constexpr std::size_t kMaxAlone = 16;

void set(Bits& bits, TokenId id) {
  bits[static_cast<std::size_t>(id) / 64] |= std::uint64_t{1} << (id % 64);
}

}  // namespace

struct TokenConstraint::Impl {
  struct Alone {
    Bits allowed;
    std::vector<std::uint32_t> escapes;  // nodes where the rule may end, with more below
  };

  Impl(std::shared_ptr<const Grammar> g, std::shared_ptr<const TokenTree> t)
      : grammar(std::move(g)), tree(std::move(t)), matcher(grammar->compiled()) {
    way.resize(tree->max_depth() + 1);
    at = matcher.start();
  }

  std::size_t n_words() const { return static_cast<std::size_t>(tree->n_tokens() + 63) / 64; }

  // Walks nodes begin .. end, which lie below the configuration `from` at depth `depth`.
  void walk(std::size_t begin, std::size_t end, ConfigId from, std::uint32_t depth, Bits& bits,
            std::vector<std::uint32_t>* escapes) {
    way[depth] = from;
    for (std::size_t node = begin; node < end;) {
      const std::uint32_t d = tree->depth(node);
      const ConfigId to = matcher.step(way[d - 1], tree->byte(node));
      if (to == Matcher::kDead) {
        node = tree->subtree_end(node);
        continue;
      }
      for (const TokenId id : tree->tokens(node)) set(bits, id);
      if (escapes != nullptr && matcher.escaped(to) && tree->subtree_end(node) > node + 1)
        escapes->push_back(static_cast<std::uint32_t>(node));
      if (!matcher.may_continue(to)) {
        node = tree->subtree_end(node);
        continue;
      }
      way[d] = to;
      ++node;
    }
  }

  // Valid until the next call.
  const Alone& alone(StateId state) {
    if (kept > kMaxMasks) states.clear(), kept = 0;
    const auto [it, added] = states.try_emplace(state);
    if (added) {
      it->second.allowed.assign(n_words(), 0);
      walk(0, tree->n_nodes(), matcher.alone(state), 0, it->second.allowed, &it->second.escapes);
      kept += n_words() * 8 + it->second.escapes.size() * 4;
    }
    return it->second;
  }

  Bits compute() {
    Bits bits(n_words(), 0);
    const std::vector<Item> items = matcher.items(at);
    if (items.size() > kMaxAlone) {
      walk(0, tree->n_nodes(), at, 0, bits, nullptr);
    } else {
      add_alone(items, bits);
    }
    if (matcher.compiled().has_tokens) add_named_tokens(bits);
    if (matcher.may_end(at))
      for (const TokenId id : tree->ends()) set(bits, id);
    return bits;
  }

  void add_alone(const std::vector<Item>& items, Bits& bits) {
    for (const Item& item : items) {
      const Alone& own = alone(item.state);
      for (std::size_t w = 0; w < bits.size(); ++w) bits[w] |= own.allowed[w];
      if (own.escapes.empty() || item.frame == Matcher::kBottom) continue;
      const ConfigId after = matcher.after(item.frame);
      if (!matcher.may_continue(after)) continue;
      for (const std::uint32_t node : own.escapes)
        walk(node + 1, tree->subtree_end(node), after, tree->depth(node), bits, nullptr);
    }
  }

  bool ends_text(TokenId id) const { return tree->tokenizer().vocabulary().ends_generation(id); }

  // `!<x>` is not a token that ends the text: the text would end where the grammar does not.
  bool names(const Matcher::TokenChoice& choice, TokenId id) const {
    return choice.negated ? id != choice.token && !ends_text(id) : id == choice.token;
  }

  void add_named_tokens(Bits& bits) {
    for (const auto& choice : matcher.token_choices(at)) {
      if (choice.negated) {
        for (TokenId id = 0; id < tree->n_tokens(); ++id)
          if (names(choice, id)) set(bits, id);
      } else if (choice.token < tree->n_tokens()) {
        set(bits, choice.token);
      }
    }
  }

  // Where a token leads that the grammar names here.
  ConfigId step_named(TokenId id) {
    const auto choices = matcher.token_choices(at);
    const bool named = std::any_of(choices.begin(), choices.end(),
                                   [&](const auto& choice) { return names(choice, id); });
    return named ? matcher.step_token(at, id) : Matcher::kDead;
  }

  // The masks of configurations are forgotten together with the matcher's memory of them.
  const Bits& mask() {
    if (matcher.memory() > kMaxMatcher + live) {
      at = matcher.collect(at);
      live = matcher.memory();
      masks.clear();
    }
    const auto found = masks.find(at);
    if (found != masks.end()) return found->second;
    if (masks.size() * n_words() * 8 > kMaxMasks) masks.clear();
    return masks.emplace(at, compute()).first->second;
  }

  std::shared_ptr<const Grammar> grammar;
  std::shared_ptr<const TokenTree> tree;
  Matcher matcher;
  ConfigId at = 0;
  std::size_t live = 0;  // the memory of the matcher after the last collect()
  std::vector<ConfigId> way;
  std::unordered_map<StateId, Alone> states;
  std::size_t kept = 0;
  std::unordered_map<ConfigId, Bits> masks;
};

TokenConstraint::TokenConstraint(std::shared_ptr<const Grammar> grammar,
                                 std::shared_ptr<const TokenTree> tree)
    : impl_(std::make_unique<Impl>(std::move(grammar), std::move(tree))) {}
TokenConstraint::~TokenConstraint() = default;
TokenConstraint::TokenConstraint(TokenConstraint&&) noexcept = default;
TokenConstraint& TokenConstraint::operator=(TokenConstraint&&) noexcept = default;

void TokenConstraint::reset() {
  impl_->at = impl_->matcher.start();
}

TokenConstraint::Place TokenConstraint::place() const {
  return {impl_->at, impl_->matcher.epoch()};
}

bool TokenConstraint::return_to(const Place& place) {
  if (place.epoch != impl_->matcher.epoch()) return false;
  impl_->at = place.at;
  return true;
}

std::span<const std::uint64_t> TokenConstraint::mask() {
  return impl_->mask();
}

bool TokenConstraint::allows(TokenId id) {
  if (id < 0 || id >= impl_->tree->n_tokens()) return false;
  return (impl_->mask()[static_cast<std::size_t>(id) / 64] >> (id % 64) & 1) != 0;
}

void TokenConstraint::apply(std::span<float> logits) {
  const Bits& bits = impl_->mask();
  bool any = false;
  for (std::size_t w = 0; w < bits.size(); ++w) {
    const std::uint64_t word = bits[w];
    for (std::size_t i = 64 * w; i < std::min(64 * (w + 1), logits.size()); ++i) {
      if ((word >> (i % 64) & 1) == 0)
        logits[i] = kForbidden;
      else
        any |= logits[i] > kForbidden;
    }
  }
  // A model may have more logits than its vocabulary has tokens.
  for (std::size_t i = 64 * bits.size(); i < logits.size(); ++i) logits[i] = kForbidden;
  if (!any)
    fail<ValueError>("no token of the vocabulary continues the text as the grammar requires");
}

bool TokenConstraint::accept(TokenId id) {
  if (!allows(id)) return false;
  Matcher& matcher = impl_->matcher;
  const Tokenizer& tokenizer = impl_->tree->tokenizer();
  const ConfigId named = impl_->step_named(id);
  const bool spelled = !tokenizer.hidden(id) && !tokenizer.vocabulary().ends_generation(id) &&
                       !tokenizer.bytes(id).empty();
  const ConfigId read = spelled ? matcher.feed(impl_->at, tokenizer.bytes(id)) : Matcher::kDead;
  // A token that ends the text leaves everything as it is.
  if (named != Matcher::kDead || read != Matcher::kDead) impl_->at = matcher.unite(named, read);
  return true;
}

bool TokenConstraint::may_end() const {
  return impl_->matcher.may_end(impl_->at);
}

bool TokenConstraint::may_continue() const {
  return impl_->matcher.may_continue(impl_->at);
}

std::string TokenConstraint::forced(std::size_t max_bytes) {
  return impl_->matcher.forced(impl_->at, max_bytes);
}

std::size_t TokenConstraint::memory() const {
  return impl_->matcher.memory() + impl_->kept + impl_->masks.size() * impl_->n_words() * 8;
}

}  // namespace weft
