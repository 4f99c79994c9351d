#pragma once
// A draft of several kinds, of which the first one that has guesses is used.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/clock.h"
#include "weft/serve/speculation.h"

#include "drafts/draft_costs.h"
#include "drafts/passages.h"

namespace weft::serve {

// What the drafts of the texts of one session have in common.
struct SharedDrafts {
  // `model`: null if DraftKind::model is not one of the kinds. The session outlives it.
  SharedDrafts(Session& s, const SpeculationOptions& o, std::shared_ptr<DraftModel> m,
               const MemoryUse& memory);
  void stepped(const DraftStep& step);
  // The text's part of a step that took so many seconds and gave so many tokens.
  void count_time(const DraftStep& step, double seconds, double n_tokens);

  Session& session;
  const SpeculationOptions options;
  const std::shared_ptr<DraftModel> model;
  const MemoryUse memory;  // Speculation::memory()
  OwnedTexts kept;         // for look-ups
  DraftCosts costs;
  SpeculationCounters all;
  std::vector<SpeculationCounters> of_kinds;  // by options.kinds
  Clock::time_point last_step;                // when it began
  // By the number of texts: what is not in `all` yet, because the time of a step without guesses is
  // not known.
  struct Uncompared {
    double seconds = 0;           // steps and proposals
    double seconds_of_plain = 0;  // of them, steps without guesses
    double n_steps = 0;           // without guesses, which would give the tokens of the other ones
  };
  std::map<std::int64_t, Uncompared> uncompared;
};

class CombinedDraft final : public Draft {
 public:
  // `kept`: for look-ups. `owner`: DraftRequest::owner.
  CombinedDraft(std::shared_ptr<SharedDrafts> shared, const std::shared_ptr<KeptTexts>& kept,
                std::string owner);
  void begin() override;
  void propose(const DraftRequest& request, std::vector<TokenId>& guesses) override;
  void stepped(const DraftStep& step) override;
  void settled(std::size_t guesses, std::size_t right) override;
  void ended(std::span<const TokenId> tokens) override;

 private:
  void propose_by(std::size_t kind, const DraftRequest& request, std::vector<TokenId>& guesses);

  std::shared_ptr<SharedDrafts> shared_;
  const std::string owner_;
  std::vector<std::shared_ptr<Draft>> drafts_;  // by kind; null: it failed
  std::optional<std::size_t> used_;             // the kind of the last guesses
  DraftCosts::Shape shape_;                     // when they were made
  double proposal_seconds_ = 0;
  DraftStep step_;  // the last one
};

}  // namespace weft::serve
