#pragma once
// A smaller model that guesses what a larger one will write. It has a session of its own beside
// that of the larger model, with as many sequences, which follow the texts.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "weft/run/session.h"
#include "weft/serve/draft.h"

namespace weft {

namespace serve {
class Likeliest;
}

// Throws UnsupportedError if the draft model cannot draft for the model (it does not write texts,
// or one of them has an encoder), and ValueError that names the first difference of the
// vocabularies: "draft.gguf: token 313 is 'thE', but 'the' in model.gguf: a draft model needs the
// same vocabulary". Rows that only fill up a vocabulary may differ in number.
void check_drafts(const Model& model, const Model& draft);

// Used by one thread at a time.
class DraftModel {
 public:
  // Throws like check_drafts(), and like Session: BudgetError if there is no room. Of `options`,
  // what concerns sequences is replaced by that of `session`.
  DraftModel(const Session& session, const std::shared_ptr<const Model>& draft,
             SessionOptions options, float p_min = 0);
  ~DraftModel();

  // `options` with what concerns sequences as in the resolved options of the session of `texts`.
  static SessionOptions with_sequences_of(const SessionOptions& texts, SessionOptions options);
  // The options of a session beside another one, from those that concern it alone.
  static SessionOptions options_beside(const Session& session, SessionOptions options);

  // Appends the tokens that the model finds likeliest, each after those before it, to `guesses`.
  // Ends before one whose probability is below `p_min` of the constructor. Throws like
  // Session::feed().
  void propose(const DraftRequest& request, std::vector<TokenId>& guesses);
  // Reads the tokens but the last one, if the sequence lags behind by more than a few.
  void prepare(const DraftRequest& request);

  const Session& session() const { return session_; }
  // Bytes that a token reads, as a share of those that a token of the larger model reads.
  double relative_cost() const { return relative_cost_; }

 private:
  void warm_up();
  void feed(std::int32_t sequence, std::span<const TokenId> tokens,
            const std::atomic<bool>* cancel);
  std::size_t keep(std::int32_t sequence, std::span<const TokenId> tokens);

  Session session_;
  double relative_cost_;
  std::int64_t n_vocab_;                    // tokens that both models have
  std::vector<std::vector<TokenId>> held_;  // by sequence
  std::unique_ptr<serve::Likeliest> likeliest_;
};

}  // namespace weft
