#include "settings.h"

#include "weft/api/json_text.h"
#include "weft/api/knob_fields.h"
#include "weft/sample/sampler_knobs.h"
#include "weft/serve/generation_knobs.h"

namespace weft::api::native {
namespace {

void add_sampler(JsonObject& json, const SamplerOptions& s) {
  add_knobs(json, sampler_knobs(), s);
  JsonArray bias;
  for (const auto& [id, value] : s.logit_bias)
    bias.add_json(JsonObject().add("bias", value).add("token", id).str());
  json.add_json("logit_bias", bias.str())
      .add_json("samplers", array_of(s.order.value_or(kSamplerOrder)));
}

}  // namespace

std::string settings_json(const TextRequest& request,
                          const std::vector<std::string>& dry_breakers) {
  const GenerationOptions& g = request.generation;
  JsonObject json;
  json.add("n_predict", g.max_tokens);
  add_knobs(json, generation_knobs(), g);
  add_knobs(json, context_knobs(), g.context_end);
  json.add("context_end", name_of_value(g.context_end.end));
  add_sampler(json, g.sampler);
  json.add_json("stop", array_of(g.rules.stops))
      .add_json("dry_sequence_breakers", array_of(dry_breakers))
      .add_json("bad_words", array_of(g.rules.banned))
      .add_json("stop_token_ids", array_of(g.stop_tokens))
      .add("t_max_predict_ms", g.max_time ? g.max_time->count() : -1)
      .add("skip_special_tokens", !g.decode.show_special)
      .add("n_probs", g.logprobs)
      .add("grammar", g.rules.grammar ? "set" : "")
      .add("id_slot", request.slot)
      .add("cache_prompt", request.reuse)
      .add("n_cache_reuse", request.moved.min_tokens);
  return json.str();
}

std::string with_seed(std::string_view settings, std::optional<std::uint64_t> seed) {
  if (!seed) return fmt::format("{{\"seed\":-1,{}", settings.substr(1));
  return fmt::format("{{\"seed\":{},{}", *seed, settings.substr(1));
}

}  // namespace weft::api::native
