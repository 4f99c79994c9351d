#pragma once
// What sessions cannot do, in one table: a feature, the mode of a session or model in which it does
// not work as usual, and what happens then. Whoever refuses takes the sentence from here, what
// is left out may be told with figures instead, and docs/modes.md shows the table. What is not in
// it works.

#include <cstdint>
#include <span>
#include <string_view>

#include "weft/run/model.h"

namespace weft {

enum class Mode : std::uint8_t {
  sharded,   // the model is divided among ranks (ModelOptions::sharding)
  streamed,  // weights are read from disk while steps run (WeightMode::streamed)
  drafting,  // texts with drafts: a layer, a head, or a model
  encoding,  // the model has an encoder and a decoder (ModelFacts::encodes)
};

enum class Feature : std::uint8_t {
  encoder,         // models with an encoder and a decoder
  draft_layer,     // the model's own layer for drafts, or a head
  draft_model,     // a smaller model that guesses
  saving,          // sequences in files: prompt caches, saved conversations and slots
  prompt_cache,    // the file of --prompt-cache
  chats,           // conversations
  token_healing,   // which chooses the last token of a prompt again
  embeddings,      // of texts
  adapters,        // LoRAs and control vectors
  larger_draft,    // a draft model with more weights than the model
  forks,           // texts that continue another one, beams
  importance,      // weft imatrix
  splitting,       // weft split-for
  converted,       // weights that are converted when they are loaded (ModelOptions::quantize)
  forecasts,       // weft plan --forecast
  forecasts_json,  // the same with --json
  traces,          // weft trace
};

enum class Support : std::uint8_t {
  refused,  // an error with the sentence
  without,  // it works without what the sentence names, or is left out: no text changes
};

struct ModeRule {
  Feature feature;
  Mode mode;
  Support support;
  std::string_view name;      // for docs: "saving a sequence"
  std::string_view sentence;  // "a sequence of a model that is divided among ranks cannot be saved"
};
std::span<const ModeRule> mode_rules();
std::string_view to_string(Mode mode);        // "sharded"
std::string_view to_string(Support support);  // "refused"

// The sentence of a rule. REQUIRES: there is one for the feature in this mode.
std::string_view why_not(Feature feature, Mode mode);
// Throws UnsupportedError "FILE: SENTENCE" if the model is sharded or has an encoder, and that
// refuses the feature.
void require(const Model& model, Feature feature);

}  // namespace weft
