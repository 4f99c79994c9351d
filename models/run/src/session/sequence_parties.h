#pragma once
// The one list of what follows a sequence.

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "weft/arch/memory.h"
#include "weft/run/session.h"

#include "memory/per_sequence.h"

namespace weft::run {

struct Runner;
class SessionMemory;

// What parties are made from. All but the functions outlive them.
struct SessionParts {
  const Model& model;
  const PlannedModel& planned;
  // The memory of those of the states that belong to this.
  std::function<std::unique_ptr<SessionMemory>(arch::MemoryOf)> memory;
  // The narrowest plan of the draft layer for so many tokens, and running it.
  std::function<Runner&(std::size_t n_tokens)> draft_runner;
  std::function<void(Runner&, const std::atomic<bool>* cancel)> run_draft;
};

// May return null: a session of this model has no such party.
using MakeParty = std::unique_ptr<PerSequence>(const SessionParts&);
MakeParty make_token_memory;  // cells and recurrent states: SessionMemory
MakeParty make_token_ids;
MakeParty make_lora_scales;
MakeParty make_encoded_text;
MakeParty make_draft_layer;
MakeParty make_other_ranks;

// In the order in which they are told. The first one may refuse to grow.
inline constexpr MakeParty* kSequenceParties[] = {
    make_token_memory,  //
    make_token_ids,    make_lora_scales, make_encoded_text, make_draft_layer, make_other_ranks,
};

std::vector<std::unique_ptr<PerSequence>> make_sequence_parties(const SessionParts& parts);

}  // namespace weft::run
