#pragma once
// Drafts that pay or stay off: several kinds, of which the first one that has guesses is used, and
// as many guesses as the measured times of steps and the acceptance so far justify
// (docs/speculation.md).
//
//   Speculation speculation(session, {.kinds = {DraftKind::ngram_simple}});
//   Generation text(session, 0, {.draft = speculation.draft()});

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/run/memory_plan.h"
#include "weft/serve/draft.h"
#include "weft/serve/draft_model.h"

namespace weft {

namespace serve {
struct SharedDrafts;
}

enum class DraftKind : std::uint8_t {
  model,         // a smaller model
  mtp,           // the model's own layer for multi-token prediction
  eagle3,        // an EAGLE-3 head, which the model was loaded with (ModelOptions::draft_file)
  ngram_simple,  // prompt look-up
};
// What a kind guesses with.
enum class DraftNeeds : std::uint8_t {
  nothing,
  model,  // SpeculationOptions::draft_model
  layer,  // the model's own (SessionOptions::draft_layer)
  head,   // likewise, a head that the model was loaded with
};
DraftNeeds needs_of(DraftKind kind);
// Whether a kind guesses with a layer or a head that the model was loaded with.
bool uses_draft_layer(DraftKind kind);
// For help texts: "what followed the last tokens when they occurred before".
std::string_view meaning_of(DraftKind kind);
std::span<const DraftKind> draft_kinds();
std::string_view to_string(DraftKind kind);  // "draft", "draft-mtp", "draft-eagle3", ..
// Throws ValueError that lists the kinds.
DraftKind draft_kind(std::string_view name);
// The kinds of "ngram-simple,draft". As in llama.cpp, "draft-simple" is another name of "draft",
// and "none" adds no kind. Throws like draft_kind().
std::vector<DraftKind> draft_kinds_in(std::string_view list);

// Who guesses if nobody is named: the draft model if there is one, else the model's own layer or
// head if its session has one (`layer`). None: neither is there.
std::optional<DraftKind> default_draft(bool draft_model, bool layer, const ModelFacts& facts);
// The session of a draft model that has none of its own: like that of the texts, without what
// concerns the tensors or the file of one model.
SessionOptions draft_session_like(const SessionOptions& texts);

inline constexpr std::int64_t kMaxGuesses = 1024;  // for a text, in a step
inline constexpr std::int64_t kMaxNgram = 1024;    // tokens that a look-up compares at least

struct SpeculationOptions {
  std::vector<DraftKind> kinds = {};  // asked in this order
  std::size_t max_guesses = 16;       // in a step of a text: 1 .. kMaxGuesses
  float p_min = 0;             // a draft model stops before a guess that it finds less likely
  std::size_t ngram_size = 2;  // LookupDraft's
  // false: always max_guesses, even if they do not pay, but for the first steps, which are
  // measured.
  bool adaptive = true;
  // For DraftKind::model. Its session gets what concerns sequences from that of the texts.
  std::shared_ptr<const Model> draft_model = {};
  SessionOptions draft_session = {};
  std::int32_t n_sequences = 0;  // texts use the first n_sequences of the session; 0: all of them
  // Called with a line when a kind is left out; may be empty.
  std::function<void(const std::string&)> warn = {};
};

struct SpeculationCounters {
  std::int64_t n_drafted = 0, n_right = 0;  // guesses that steps checked; those that were right
  // Steps and proposals, and what the same tokens would have taken without guesses. Both are of the
  // steps for which the time of a step without guesses was measured: 0 if there are none.
  double seconds = 0, seconds_without = 0;
};

// The memory that such drafts ask for. Throws like check_drafts(), and ValueError for numbers out
// of range.
DraftDemand draft_demand(const Model& model, const SpeculationOptions& options);

// The drafts of the texts of one session, which share costs and a draft model. Used by one thread
// at a time. The drafts may outlive it, but not the session.
class Speculation {
 public:
  // Leaves out a draft model whose session does not fit, or that costs more than the model itself;
  // and all drafts if the logits of guesses do not fit. Drafts get what the session leaves of its
  // budget; SessionOptions::reserved stays the caller's. Throws ValueError for numbers out of
  // range, for DraftKind::model without a model, and for DraftKind::mtp and eagle3 with a session
  // that has no such layer (SessionOptions::draft_layer); and like DraftModel, except for
  // BudgetError.
  Speculation(Session& session, const SpeculationOptions& options);
  // The same with what plan_memory() offered for draft_demand() beside that session.
  Speculation(Session& session, const SpeculationOptions& options, DraftOffer offer);

  // A draft for the texts of one owner, one after the other. Look-ups also search the owner's texts
  // that have ended. nullopt: look-ups search no other text, and no other text's look-ups search
  // this one. Null if no kind is left.
  std::shared_ptr<Draft> draft(std::optional<std::string_view> owner = "") const;
  SpeculationCounters counters() const;  // all drafts together
  SpeculationCounters counters(DraftKind kind) const;
  std::span<const DraftKind> kinds() const;  // that are used
  std::size_t max_guesses() const;           // SpeculationOptions::max_guesses
  const MemoryUse& memory() const;           // that drafts take beside the session of texts

 private:
  std::shared_ptr<serve::SharedDrafts> shared_;
};

}  // namespace weft
