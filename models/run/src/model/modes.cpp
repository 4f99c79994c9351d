#include "weft/run/modes.h"

#include <algorithm>

#include "weft/base/error.h"

namespace weft {
namespace {

using enum Feature;
using enum Mode;
using enum Support;

constexpr ModeRule kRules[] = {
    {encoder, sharded, refused, "a model with an encoder and a decoder",
     "a model with an encoder and a decoder cannot be divided among ranks"},
    {draft_layer, sharded, refused, "the model's own layer for drafts",
     "the draft layer of a model that is divided among ranks cannot be used"},
    {saving, sharded, refused, "saving a sequence",
     "sequences of a model that is divided among ranks cannot be saved"},
    {importance, sharded, refused, "an importance matrix",
     "an importance matrix needs the inputs of all weights, and rank 0 has only those of its part: "
     "run weft imatrix alone, without --shard; a model that does not fit in memory is read from "
     "disk"},
    {splitting, sharded, refused, "files of ranks",
     "files of ranks are made of the whole model: load it without ranks"},
    {forecasts_json, sharded, refused, "a forecast as JSON",
     "the forecast of a model divided by --shard is text only"},
    {traces, sharded, without, "a trace", "nodes of other ranks are not traced"},
    {Feature::embeddings, streamed, refused, "embeddings of a server",
     "streamed weights leave no memory for embeddings: give the server a larger --mem-budget, or "
     "start another one for them"},
    {converted, streamed, refused, "weights that are converted when they are loaded",
     "weights that are converted when they are loaded cannot be streamed"},
    {Feature::embeddings, drafting, refused, "embeddings",
     "a session that computes embeddings has no draft layer"},
    {adapters, drafting, without, "LoRAs and control vectors",
     "the draft layer is computed without adapters: its guesses are less often right"},
    {larger_draft, drafting, without, "a draft model with more weights than the model",
     "a draft model that costs more than the model is left out"},
    {forks, drafting, without, "forks and beams of a text", "forks and beams have no drafts"},
    {draft_model, encoding, refused, "a draft model",
     "models with an encoder cannot draft, nor use drafts"},
    {saving, encoding, refused, "saving a sequence",
     "saving a sequence of a model with an encoder is not supported"},
    {prompt_cache, encoding, refused, "a prompt cache",
     "a prompt cache for a model with an encoder is not supported"},
    {chats, encoding, refused, "chats", "chats with a model that has an encoder are not supported"},
    {token_healing, encoding, refused, "token healing",
     "token healing with a model that has an encoder is not supported"},
    {Feature::embeddings, encoding, refused, "embeddings",
     "embeddings of a model with an encoder and a decoder are not supported; convert the encoder "
     "alone (architecture t5encoder)"},
    {forecasts, encoding, refused, "forecasts",
     "there are no forecasts of models with an encoder and a decoder"},
};

constexpr std::string_view kModes[] = {"sharded", "streamed", "drafting", "encoding"};
constexpr std::string_view kSupport[] = {"refused", "without"};

const ModeRule* find(Feature feature, Mode mode) {
  const auto* const rule = std::ranges::find_if(
      kRules, [&](const ModeRule& r) { return r.feature == feature && r.mode == mode; });
  return rule == std::end(kRules) ? nullptr : rule;
}

}  // namespace

std::span<const ModeRule> mode_rules() {
  return kRules;
}

std::string_view to_string(Mode mode) {
  return kModes[static_cast<std::size_t>(mode)];
}

std::string_view to_string(Support support) {
  return kSupport[static_cast<std::size_t>(support)];
}

std::string_view why_not(Feature feature, Mode mode) {
  const ModeRule* const rule = find(feature, mode);
  if (!rule) fail<Error>("no rule says what a {} session lacks", to_string(mode));
  return rule->sentence;
}

void require(const Model& model, Feature feature) {
  for (const auto& [mode, is_so] : {std::pair{Mode::sharded, model.sharding().ranks() > 1},
                                    std::pair{Mode::encoding, model.facts().encodes}}) {
    const ModeRule* const rule = is_so ? find(feature, mode) : nullptr;
    if (rule && rule->support == Support::refused)
      fail<UnsupportedError>("{}: {}", model.file().path(), rule->sentence);
  }
}

}  // namespace weft
