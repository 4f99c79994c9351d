#pragma once
// Drafts of the model's own layer for multi-token prediction, or of a head (Session::draft).

#include "weft/run/session.h"

#include "drafts/likeliest.h"

namespace weft::serve {

class LayerDraft final : public Draft {
 public:
  // REQUIRES: the session has a draft layer. It outlives the draft.
  LayerDraft(Session& session, float p_min)
      : session_(session),
        likeliest_(session.model().vocabulary(), p_min, session.model().draft_ids()) {}

  void begin() override {}
  // No guesses for a request whose tokens are not those of its sequence and one more.
  void propose(const DraftRequest& request, std::vector<TokenId>& guesses) override {
    if (session_.length(request.sequence) + 1 != std::ssize(request.tokens)) return;
    const std::size_t first = guesses.size();
    const auto draft = [&](TokenId token) {
      return session_.draft(request.sequence, token, guesses.size() > first, request.cancel);
    };
    while (likeliest_.add(draft(guesses.size() > first ? guesses.back() : request.tokens.back()),
                          request, guesses)) {
    }
  }

 private:
  Session& session_;
  Likeliest likeliest_;
};

}  // namespace weft::serve
