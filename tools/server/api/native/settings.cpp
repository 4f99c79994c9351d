#include "api/native/settings.h"

#include "api/json_text.h"

namespace weft::api::native {
namespace {

void add_sampler(JsonObject& json, const SamplerOptions& s) {
  json.add("temperature", s.temperature)
      .add("dynatemp_range", s.dynamic_range)
      .add("dynatemp_exponent", s.dynamic_exponent)
      .add("top_k", s.top_k)
      .add("top_p", s.top_p)
      .add("min_p", s.min_p)
      .add("top_n_sigma", s.top_n_sigma)
      .add("xtc_probability", s.xtc_probability)
      .add("xtc_threshold", s.xtc_threshold)
      .add("typical_p", s.typical_p)
      .add("repeat_last_n", s.penalty_last_n)
      .add("repeat_penalty", s.repeat_penalty)
      .add("presence_penalty", s.presence_penalty)
      .add("frequency_penalty", s.frequency_penalty)
      .add("dry_multiplier", s.dry_multiplier)
      .add("dry_base", s.dry_base)
      .add("dry_allowed_length", s.dry_allowed_length)
      .add("dry_penalty_last_n", s.dry_last_n)
      .add("mirostat", s.mirostat)
      .add("mirostat_tau", s.mirostat_tau)
      .add("mirostat_eta", s.mirostat_eta);
  JsonArray bias;
  for (const auto& [id, value] : s.logit_bias)
    bias.add_json(JsonObject().add("bias", value).add("token", id).str());
  json.add_json("logit_bias", bias.str())
      .add_json("samplers", array_of(s.order.empty() ? kSamplerOrder : s.order));
}

}  // namespace

std::string settings_json(const TextRequest& request) {
  const GenerationOptions& g = request.generation;
  JsonObject json;
  json.add("n_predict", g.max_tokens).add("max_tokens", g.max_tokens);
  add_sampler(json, g.sampler);
  json.add_json("stop", array_of(g.rules.stops))
      .add("ignore_eos", g.ignore_eos)
      .add("n_probs", g.logprobs)
      .add("grammar", g.rules.grammar ? "set" : "")
      .add("id_slot", request.slot)
      .add("cache_prompt", request.reuse);
  return json.str();
}

std::string with_seed(std::string_view settings, std::optional<std::uint64_t> seed) {
  if (!seed) return fmt::format("{{\"seed\":-1,{}", settings.substr(1));
  return fmt::format("{{\"seed\":{},{}", *seed, settings.substr(1));
}

}  // namespace weft::api::native
