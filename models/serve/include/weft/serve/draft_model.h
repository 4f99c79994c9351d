#pragma once
// A smaller model that guesses what a larger one will write. It has a session of its own beside
// that of the larger model, whose sequences follow the texts.

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
  // Opens the session that plan_drafts() planned for this model, beside that of the texts. Throws
  // like check_drafts() and Session.
  DraftModel(const Session& texts, const std::shared_ptr<const Model>& draft, PlannedModel planned,
             float p_min = 0);
  ~DraftModel();

  // Appends the tokens that the model finds likeliest, each after those before it, to `guesses`.
  // Ends before one whose probability is below `p_min` of the constructor. Throws like
  // Session::feed().
  void propose(const DraftRequest& request, std::vector<TokenId>& guesses);
  // If the text has more than a few new tokens, reads some of them, as a step of a server reads of
  // its prompts. Returns false if more than a few are left.
  bool prepare(const DraftRequest& request);

  const Session& session() const { return session_; }
  // Bytes that a token reads, as a share of those that a token of the larger model reads.
  double relative_cost() const { return relative_cost_; }

 private:
  void warm_up();
  std::size_t keep(const DraftRequest& request);

  Session session_;
  double relative_cost_;
  std::int64_t n_vocab_;  // tokens that both models have
  struct Held {
    std::int64_t n_text = 0;  // tokens of the longest text that the guesses were for
    std::string owner = {};   // DraftRequest::owner
  };
  std::vector<Held> held_;  // by sequence, whose tokens are a text and guesses
  std::unique_ptr<serve::Likeliest> likeliest_;
};

}  // namespace weft
