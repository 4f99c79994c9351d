// The tokens that a state of a rule allows do not depend on the caller of the rule, as long as the
// rule does not end within the token: they are computed once per state and kept. If it does end,
// the rest of the token is walked with the states after the call.

#include "weft/grammar/token_constraint.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "weft/base/error.h"
#include "weft/base/ledger.h"
#include "weft/tokenize/logits.h"

#include "matcher.h"

namespace weft {
namespace {

using namespace grammar;
using Bits = std::vector<std::uint64_t>;

constexpr std::size_t kMaxMatcher = std::size_t{64} << 20;
constexpr std::size_t kMaxGrowth = std::size_t{256} << 20;  // bytes of the matcher for one mask
constexpr std::uint64_t kStepsBetweenChecks = 1'000'000;
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

  Impl(std::shared_ptr<const Grammar> g, std::shared_ptr<const TokenTree> t, const Limits& l)
      : grammar(std::move(g)), tree(std::move(t)), limits(l), matcher(grammar->compiled()) {
    way.resize(tree->max_depth() + 1);
    at = matcher.start();
    taken.require(n_bytes() + static_cast<std::int64_t>(n_words() * 8));  // and a mask
  }

  std::size_t n_words() const { return static_cast<std::size_t>(tree->n_tokens() + 63) / 64; }

  // A walk of the tree's nodes from `node` to `end`, which lie below a configuration; `way` has
  // those of the nodes above.
  struct Walk {
    std::size_t node = 0, end = 0;
    bool done() const { return node >= end; }
  };
  Walk below(ConfigId from, std::uint32_t depth, std::size_t begin, std::size_t end) {
    way[depth] = from;
    return {begin, end};
  }

  // Advances a walk until it is done or `limit` steps were taken altogether.
  void advance(Walk& walk, Bits& bits, std::vector<std::uint32_t>* escapes, std::uint64_t limit) {
    std::size_t node = walk.node;
    ConfigId* const way_to = way.data();  // by depth, which the tree bounds
    std::uint64_t n = n_nodes;
    for (; node < walk.end && n + matcher.used().steps < limit; ++n) {
      const std::uint32_t d = tree->depth(node);
      const ConfigId to = matcher.step(way_to[d - 1], tree->byte(node));
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
      way_to[d] = to;
      ++node;
    }
    walk.node = node;
    n_nodes = n;
  }

  // A mask that is being computed: the tokens of one item of the configuration after the other, or
  // of all together.
  struct Job {
    ConfigId config = Matcher::kDead;
    Bits bits;
    std::vector<Item> items;             // that are left, the next one last; empty: all together
    std::optional<Walk> walk;            // all together, that of `alone`, or one below an escape
    std::optional<Alone> alone;          // the next item, for `states`
    std::vector<std::uint32_t> escapes;  // those of the item before that are left
    ConfigId after = Matcher::kDead;     // the configuration that escapes lead to
    std::uint64_t begin = 0;             // steps() when it began
  };

  std::uint64_t steps() const { return n_nodes + matcher.used().steps; }

  void begin_job() {
    job.emplace(Job{.config = at, .bits = Bits(n_words(), 0), .items = matcher.items(at)});
    job->begin = steps();
    if (job->items.size() > kMaxAlone) {
      job->items.clear();
      job->walk = below(at, 0, 0, tree->n_nodes());
    }
    std::ranges::reverse(job->items);
  }

  // The tokens of a state that is known, and its escapes to walk.
  void take_alone(const Item& item, const Alone& own) {
    for (std::size_t w = 0; w < job->bits.size(); ++w) job->bits[w] |= own.allowed[w];
    job->items.pop_back();
    if (own.escapes.empty() || item.frame == Matcher::kBottom) return;
    job->after = matcher.after(item.frame);
    if (matcher.may_continue(job->after)) job->escapes = own.escapes;
  }

  void next_item() {
    const Item item = job->items.back();
    if (const auto known = states.find(item.state); known != states.end())
      return take_alone(item, known->second);
    job->alone.emplace(Alone{Bits(n_words(), 0), {}});
    job->walk = below(matcher.alone(item.state), 0, 0, tree->n_nodes());
  }

  void keep_alone() {
    if (kept > kMaxMasks) states.clear(), kept = 0;
    kept += n_words() * 8 + job->alone->escapes.size() * 4;
    states.emplace(job->items.back().state, *std::exchange(job->alone, std::nullopt));
  }

  void next_escape() {
    const std::uint32_t node = job->escapes.back();
    job->escapes.pop_back();
    job->walk = below(job->after, tree->depth(node), node + 1, tree->subtree_end(node));
  }

  // Returns whether the job is done.
  bool work_on_job(std::uint64_t limit) {
    while (steps() < limit) {
      check_budget();
      if (job->walk) {
        Alone* const alone = job->alone ? &*job->alone : nullptr;
        advance(*job->walk, alone ? alone->allowed : job->bits, alone ? &alone->escapes : nullptr,
                std::min(limit, steps() + kStepsBetweenChecks));
        if (!job->walk->done()) continue;
        job->walk.reset();
        if (alone) keep_alone();
      } else if (!job->escapes.empty()) {
        next_escape();
      } else if (!job->items.empty()) {
        next_item();
      } else {
        return true;
      }
    }
    return false;
  }

  void finish_job() {
    Bits& bits = job->bits;
    if (matcher.compiled().has_tokens) add_named_tokens(bits);
    if (matcher.may_end(at))
      for (const TokenId id : tree->ends()) set(bits, id);
    if (masks_are_full()) masks.clear();
    masks.emplace(at, std::move(bits));
    job.reset();
  }

  void check_budget() {
    if (steps() - job->begin > limits.mask)
      fail<BudgetError>("the grammar takes more than {} steps to find the next tokens",
                        limits.mask);
    if (steps() > limits.text + n_accepted * limits.token)
      fail<BudgetError>("the grammar takes more than {} steps and {} more for each token",
                        limits.text, limits.token);
    taken.set(n_bytes());
    if (matcher.used().bytes > kMaxGrowth + live)
      fail<BudgetError>("the grammar needs more than {} bytes to find the next tokens", kMaxGrowth);
  }

  bool ends_text(TokenId id) const { return tree->tokenizer().vocabulary().ends_generation(id); }

  // `!<x>` is not a token that ends the text: the text would end where the grammar does not.
  bool names(const Matcher::TokenChoice& choice, TokenId id) const {
    return choice.negated ? id != choice.token && !ends_text(id) : id == choice.token;
  }

  // Two different negated tokens allow every one.
  void add_named_tokens(Bits& bits) {
    std::optional<TokenId> all_but;
    bool all = false;
    for (const auto& choice : matcher.token_choices(at)) {
      if (!choice.negated) {
        if (choice.token < tree->n_tokens()) set(bits, choice.token);
        continue;
      }
      all = all || (all_but && *all_but != choice.token);
      all_but = choice.token;
    }
    if (!all_but) return;
    n_nodes += static_cast<std::uint64_t>(tree->n_tokens());
    for (TokenId id = 0; id < tree->n_tokens(); ++id)
      if ((all || id != *all_but) && !ends_text(id)) set(bits, id);
  }

  // Where a token leads that the grammar names here.
  ConfigId step_named(TokenId id) {
    const auto choices = matcher.token_choices(at);
    const bool named = std::any_of(choices.begin(), choices.end(),
                                   [&](const auto& choice) { return names(choice, id); });
    return named ? matcher.step_token(at, id) : Matcher::kDead;
  }

  bool matcher_is_full() const { return matcher.used().bytes > kMaxMatcher + live; }
  bool masks_are_full() const { return masks.size() * n_words() * 8 > kMaxMasks; }

  // The masks of configurations are forgotten together with the matcher's memory of them.
  void free_memory() {
    job.reset();
    at = matcher.collect(at);
    live = matcher.used().bytes;
    masks.clear();
  }

  std::int64_t n_bytes() const {
    return static_cast<std::int64_t>(matcher.used().bytes + kept + masks.size() * n_words() * 8);
  }

  // What runs goes on, whatever the ledger says: it frees what can be made again. Refused are new
  // texts.
  void free_if_full(bool ledger_counts) {
    if (matcher_is_full() || (ledger_counts && !taken.resize(n_bytes()))) {
      free_memory();
      states.clear();
      kept = 0;
    }
    taken.set(n_bytes());
  }

  // As prepare_mask().
  bool prepare(std::uint64_t n_steps, bool may_free = true) {
    if (masks.contains(at)) return true;
    if (!may_free && (matcher_is_full() || masks_are_full())) return false;
    if (!job || job->config != at) {
      job.reset();
      free_if_full(may_free);
      begin_job();
    }
    const std::uint64_t limit = n_steps > ~steps() ? ~std::uint64_t{0} : steps() + n_steps;
    if (!work_on_job(limit)) return false;
    finish_job();
    return true;
  }

  const Bits& mask() {
    prepare(~std::uint64_t{0});
    return masks.find(at)->second;
  }

  // Where a token leads; kDead if it is not allowed.
  ConfigId after_token(TokenId id) {
    const ConfigId named = step_named(id);
    const Tokenizer& tokenizer = tree->tokenizer();
    const bool spelled = !tokenizer.hidden(id) && !ends_text(id) && !tokenizer.bytes(id).empty();
    const ConfigId read = spelled ? matcher.feed(at, tokenizer.bytes(id)) : Matcher::kDead;
    if (named != Matcher::kDead || read != Matcher::kDead) return matcher.unite(named, read);
    // A token that ends the text leaves everything as it is.
    const bool ends = ends_text(id) && matcher.may_end(at);
    return ends ? at : Matcher::kDead;
  }

  bool go_to(TokenId id) {
    if (id < 0 || id >= tree->n_tokens()) return false;
    const ConfigId to = after_token(id);
    if (to == Matcher::kDead) return false;
    at = to;
    return true;
  }

  std::shared_ptr<const Grammar> grammar;
  std::shared_ptr<const TokenTree> tree;
  const Limits limits;
  Matcher matcher;
  ConfigId at = 0;
  std::size_t live = 0;  // the memory of the matcher after the last collect()
  std::vector<ConfigId> way;
  std::unordered_map<StateId, Alone> states;
  std::size_t kept = 0;
  std::unordered_map<ConfigId, Bits> masks;
  std::optional<Job> job;
  std::uint64_t n_nodes = 0;     // that were walked
  std::uint64_t n_accepted = 0;  // tokens
  Taken taken{Account::grammars};
};

TokenConstraint::TokenConstraint(std::shared_ptr<const Grammar> grammar,
                                 std::shared_ptr<const TokenTree> tree)
    : TokenConstraint(std::move(grammar), std::move(tree), Limits()) {}
TokenConstraint::TokenConstraint(std::shared_ptr<const Grammar> grammar,
                                 std::shared_ptr<const TokenTree> tree, const Limits& limits)
    : impl_(std::make_unique<Impl>(std::move(grammar), std::move(tree), limits)) {}
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

bool TokenConstraint::prepare_mask(std::uint64_t steps, bool may_free) {
  return impl_->prepare(steps, may_free);
}

bool TokenConstraint::has_mask(const Place& place) const {
  return place.epoch == impl_->matcher.epoch() && impl_->masks.contains(place.at);
}

std::uint64_t TokenConstraint::steps() const {
  return impl_->steps();
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
  const bool accepted = impl_->go_to(id);
  impl_->n_accepted += accepted;
  return accepted;
}

bool TokenConstraint::accept_again(TokenId id) {
  if (impl_->matcher_is_full()) impl_->free_memory();
  return impl_->go_to(id);
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
  return static_cast<std::size_t>(impl_->n_bytes());
}

}  // namespace weft
