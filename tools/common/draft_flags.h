#pragma once
// Flags of drafts (weft/serve/speculation.h), named as in llama.cpp.

#include <string>

#include "weft/serve/speculation.h"

#include "common/app.h"
#include "common/flags.h"

namespace weft::cli {

struct DraftFlags {
  std::string file;                // -md
  SpeculationOptions speculation;  // without the model
  bool kinds_given = false;
};
void add_draft_flags(App& app, DraftFlags& flags);
// Call it after parsing. Looks at the file of -md: a part that drafts for the model
// (weft/run/draft_file.h) is loaded with it, by `model`. Throws UsageError for flags that do not go
// together, and like Checkpoint::open.
void complete(DraftFlags& flags, ModelFlags& model);

// The options of the flags for texts of `model`, with the draft model loaded. Its session is as
// that of `flags_of_model`, without routes. That one gets a draft layer if that is wanted: by
// default, if the model has one.
SpeculationOptions speculation_options(const DraftFlags& flags, const Model& model,
                                       ModelFlags& flags_of_model);

// The demand of a program that writes `session.sequences` texts at a time with these drafts.
MemoryDemand demand_of_texts(const Model& model, const SessionOptions& session,
                             const SpeculationOptions& drafts);
// That of chat: with room for the states of about three turns, from which recurrent models can go
// on. Not with ranks, which might come to different plans.
MemoryDemand demand_of_chat(const Model& model, const SessionOptions& session,
                            const SpeculationOptions& drafts);

// "drafted      120 tokens, 90 of them right (draft 80 of 110, ngram-simple 10 of 10); 1.62 times
// as fast as without"; empty if nothing was drafted.
std::string draft_report(const Speculation& speculation);

}  // namespace weft::cli
