#include "weft/serve/draft_model.h"

#include <algorithm>
#include <array>
#include <utility>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/run/model.h"
#include "weft/run/modes.h"
#include "weft/run/nan_error.h"
#include "weft/tokenize/vocabulary.h"

#include "drafts/likeliest.h"

namespace weft {
namespace {

constexpr std::size_t kSmallLag = 16;     // tokens that propose() reads in passing,
constexpr std::size_t kReadAtOnce = 128;  // and those that prepare() does

constexpr const char* kRule = "a draft model needs the same vocabulary";

void check_writes(const Model& model, const Model& draft) {
  const std::string& path = draft.file().path();
  const ModelFacts& facts = draft.facts();
  if (!facts.gives_text())
    fail<UnsupportedError>("{}: this model does not write texts, so it cannot draft them", path);
  if (facts.encodes || model.facts().encodes)
    fail<UnsupportedError>("{}: {}", facts.encodes ? path : model.file().path(),
                           why_not(Feature::draft_model, Mode::encoding));
}

// The texts of two lists must be the same, as far as both go.
template <class Text>
void check_same(const Model& model, const Model& draft, const char* what, std::int64_t n,
                Text text) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::string_view ours = text(model.vocabulary(), i), theirs = text(draft.vocabulary(), i);
    if (ours == theirs) continue;
    fail<ValueError>("{}: {} {} is '{}', but '{}' in {}: {}", draft.file().path(), what, i,
                     printable(theirs), printable(ours), model.file().path(), kRule);
  }
}

void check_same_vocabulary(const Model& model, const Model& draft) {
  const Vocabulary &ours = model.vocabulary(), &theirs = draft.vocabulary();
  const std::string &ours_in = model.file().path(), &theirs_in = draft.file().path();
  if (ours.has_texts() != theirs.has_texts() || ours.kind() != theirs.kind())
    fail<ValueError>("{}: the tokenizer is '{}', but '{}' in {}: {}", theirs_in, theirs.kind(),
                     ours.kind(), ours_in, kRule);
  if (!ours.has_texts() && ours.size() != theirs.size())
    fail<ValueError>("{}: has {} tokens, {} has {}: {}", theirs_in, theirs.size(), ours_in,
                     ours.size(), kRule);
  if (ours.has_texts()) {
    check_same(model, draft, "token", std::min(ours.size(), theirs.size()),
               [](const Vocabulary& v, std::int64_t i) { return v.text(static_cast<TokenId>(i)); });
    check_same(model, draft, "merge", std::min(ours.n_merges(), theirs.n_merges()),
               [](const Vocabulary& v, std::int64_t i) { return v.merge(i); });
  }
  const SpecialTokens &a = ours.special(), &b = theirs.special();
  if (a.bos != b.bos || a.eos != b.eos)
    fail<ValueError>("{}: texts begin with token {} and end with {}, but with {} and {} in {}: {}",
                     theirs_in, b.bos, b.eos, a.bos, a.eos, ours_in, kRule);
}

std::shared_ptr<const Model> checked(const Session& session, std::shared_ptr<const Model> draft) {
  check_drafts(session.model(), *draft);
  return draft;
}

}  // namespace

void check_drafts(const Model& model, const Model& draft) {
  check_writes(model, draft);
  check_same_vocabulary(model, draft);
}

DraftModel::DraftModel(const Session& texts, const std::shared_ptr<const Model>& draft,
                       PlannedModel planned, float p_min)
    : session_(std::move(planned), checked(texts, draft)),
      relative_cost_(static_cast<double>(draft->facts().weight_bytes) /
                     static_cast<double>(texts.model().facts().weight_bytes)),
      n_vocab_(std::min(draft->facts().n_vocab, texts.model().facts().n_vocab)),
      held_(static_cast<std::size_t>(session_.options().sequences)),
      likeliest_(std::make_unique<serve::Likeliest>(session_.model().vocabulary(), p_min)) {
  warm_up();
}
DraftModel::~DraftModel() = default;

// Computes two short steps, for which the first text would have to wait: they compile plans and
// touch the weights.
void DraftModel::warm_up() {
  constexpr std::array<TokenId, 2> kTokens{0, 0};
  try {
    for (const std::size_t n : {std::size_t{2}, std::size_t{1}}) {
      if (session_.options().context >= std::int64_t(n))
        session_.feed(0, std::span(kTokens).first(n));
      session_.truncate(0, 0);
    }
  } catch (const NanError&) {  // texts go on without guesses
    session_.truncate(0, 0);
  }
}

// Removes what is not the beginning of the tokens, of which at least the last one is left to feed.
std::size_t DraftModel::keep(const DraftRequest& request) {
  const std::int32_t sequence = request.sequence;
  const std::span<const TokenId> tokens = request.tokens;
  if (std::cmp_greater_equal(sequence, held_.size()))
    fail<ValueError>("a draft for sequence {}, of {}", sequence, held_.size());
  auto& [n_text, owner] = held_[static_cast<std::size_t>(sequence)];
  if (owner != request.owner) {
    session_.truncate(sequence, 0);
    n_text = 0;
    owner = request.owner;
  }
  const std::int64_t same = session_.common_prefix(sequence, tokens);
  const std::int64_t n = session_.resume_point(sequence, std::min(same, std::ssize(tokens) - 1));
  session_.truncate(sequence, n);
  if (same < n_text) n_text = n;  // another text
  return static_cast<std::size_t>(n);
}

// Tokens that a recurrent model forgot together with wrong guesses are a cost of guesses.
bool DraftModel::prepare(const DraftRequest& request) {
  const std::span<const TokenId> tokens = request.tokens;
  const std::size_t n = keep(request);
  const std::size_t n_known = std::max(
      n, static_cast<std::size_t>(held_[static_cast<std::size_t>(request.sequence)].n_text));
  if (n_known + kSmallLag >= tokens.size()) return true;
  const std::size_t n_read = std::min(tokens.size() - 1 - n, kReadAtOnce);
  session_.feed(request.sequence, tokens.subspan(n, n_read), request.cancel);
  return n + n_read + kSmallLag >= tokens.size();
}

void DraftModel::propose(const DraftRequest& request, std::vector<TokenId>& guesses) {
  const std::span<const TokenId> tokens = request.tokens;
  const auto known = [&](TokenId id) { return id < session_.model().facts().n_vocab; };
  const auto more = tokens.subspan(keep(request));
  if (!std::ranges::all_of(more, known)) return;
  const std::int64_t room = session_.options().context - std::ssize(tokens);
  DraftRequest that_fits = request;
  that_fits.max =
      std::min(request.max, guesses.size() + std::size_t(std::max<std::int64_t>(room, 0)));
  if (that_fits.max == guesses.size()) return;
  session_.feed(request.sequence, more, request.cancel);
  held_[static_cast<std::size_t>(request.sequence)].n_text = std::ssize(tokens);
  const auto logits = [&] { return session_.logits().first(static_cast<std::size_t>(n_vocab_)); };
  while (likeliest_->add(logits(), that_fits, guesses))
    session_.feed(request.sequence, {&guesses.back(), 1}, request.cancel);
}

}  // namespace weft
