#pragma once
// One step of an engine: which tokens of the running texts it computes, and what becomes of its
// results.

#include <cstdint>
#include <exception>
#include <span>
#include <vector>

#include "weft/serve/engine.h"

#include "engine/step_profile.h"
#include "pacing/prompt_pacing.h"

namespace weft::serve {

class EngineInbox;
class EngineSlots;
class MovedTexts;
class SequenceStore;
struct EngineRequest;
struct EngineSlot;

// Whether the share of the time that Engine::prepare() may take is not spent.
bool may_prepare(const EngineCounters& counters, double share);

// Owned by the engine's thread, which also calls the listeners from here: for each step first the
// watchers, then the progress of prompts in the order of starts, then the events of texts.
// Invariants:
//   - Between steps nothing is in a step for the inbox.
//   - Everything that describes a step is overwritten by the next one. Its memory is kept, so that
//     steps do not allocate.
class EngineStepper {
 public:
  // The others must outlive it. `options`: prompt_tokens_per_step and prepare_share.
  EngineStepper(Session& session, EngineInbox& inbox, EngineSlots& slots, SequenceStore& store,
                MovedTexts& moved, const EngineOptions& options);

  // Computes a step of all running texts, if there are any. If there is too little memory, only
  // makes room for the next call. Texts that fail end with their error.
  //
  // What a grammar needs for the next token is computed in slices between steps, of a millisecond
  // for all texts together. A text takes part in steps again when that is done, so that it makes no
  // other one wait.
  void step();
  // Limits the tokens of prompts in a step; 0: no limit.
  void set_max_prompt_tokens(std::int64_t n) { max_prompt_tokens_ = n; }

 private:
  void prepare_masks();
  bool prepare_masks_of(const EngineRequest& request, Clock::time_point until);
  struct Attempt {
    double seconds = 0;
    std::exception_ptr error;  // null: none
    bool is_short_of_memory = false;
  };
  template <class F>
  Attempt attempt(F work);
  void take_moved_parts();
  void drop_old_tokens();
  void drop_old_tokens(EngineSlot& slot);
  void take_moved_part(EngineSlot& slot);
  void set_quotas();
  void compute(std::span<EngineSlot* const> some);
  void compute_each(const std::vector<EngineSlot*>& some);
  void make_room(const std::exception_ptr& error);
  void count_step(const EngineSlot& slot, double seconds, std::int64_t n_computed);
  void count_prepared(EngineRequest& request, double seconds, std::int64_t n);
  double depth_of_step() const;
  void report_prompt(EngineSlot& slot);
  void collect(const Batch::Event& event);

  const Session& session_;
  EngineInbox& inbox_;
  EngineSlots& slots_;
  SequenceStore& store_;
  MovedTexts& moved_;
  Batch batch_;
  const double prepare_share_;
  PromptPacing pacing_;
  std::int64_t max_prompt_tokens_ = 0;
  StepProfile profile_;
  std::vector<EngineSlot*> running_;        // slots with a text when the step began, by start
  std::vector<std::int64_t> quotas_;        // tokens that each of them may have in the step
  std::int64_t n_text_tokens_ = 0;          // tokens of the step that do not wait as prompts do
  std::int64_t n_prompt_ends_ = 0;          // those of them that are the last of a prompt
  std::size_t turn_ = 0;                    // the slot that is prepared first
  std::vector<const EngineRequest*> late_;  // whose texts are not prepared
  // What the batch is given.
  std::vector<Generation*> generations_;
  std::vector<EngineRequest*> requests_;
  std::vector<std::int64_t> limits_;
};

}  // namespace weft::serve
