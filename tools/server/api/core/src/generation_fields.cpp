#include "weft/api/generation_fields.h"

#include <algorithm>
#include <chrono>
#include <random>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/api/errors.h"
#include "weft/api/knob_fields.h"
#include "weft/api/prompt_fields.h"
#include "weft/run/model.h"
#include "weft/sample/sampler_knobs.h"
#include "weft/serve/generation_knobs.h"
#include "weft/tokenize/vocabulary.h"

#include "logit_bias.h"

namespace weft::api {
namespace {

constexpr std::size_t kMaxStops = 256;

// Names, or a text of letters as llama-server has them.
Form<std::vector<std::string>> samplers_form() {
  auto form = list(text());
  return {"a list of names of samplers, or a text of letters (" + sampler_letters() + ")",
          R"({"anyOf":[)" + form.schema + R"(,{"type":"string"}]})", kArray | kString,
          [read = form.read](const Json& json, const Path& path) {
            try {
              return json.is_string() ? sampler_order_of_letters(json.get_ref<const std::string&>())
                                      : sampler_order(read(json, path));
            } catch (const UnsupportedError& e) {
              refuse(path, e.what());
            }
          }};
}

std::uint64_t seed_of(const ServedModel& model, const GenerationFields& fields) {
  if (fields.seed && *fields.seed != -1) return static_cast<std::uint64_t>(*fields.seed);
  if (!fields.seed && !model.random_seed) return model.sampler.seed;
  thread_local std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

const Fields<SamplerOptions>& sampler_fields() {
  static const auto table =
      knob_fields(sampler_knobs())
          .add("samplers", &SamplerOptions::order, samplers_form(), sampler_doc("samplers"));
  return table;
}

const Fields<ContextEndOptions>& context_fields() {
  static const auto table = knob_fields(context_knobs())
                                .add("context_end", &ContextEndOptions::end,
                                     choice<ContextEnd>({{"stop", ContextEnd::stop},
                                                         {"shift", ContextEnd::shift},
                                                         {"window", ContextEnd::window},
                                                         {"evict", ContextEnd::evict}}),
                                     std::string(described<ContextEndOptions>("context_end").doc));
  return table;
}

// Interfaces have forms of their own for max_tokens.
const Fields<GenerationOptions>& option_fields() {
  static const auto table = [] {
    Fields<GenerationOptions> fields;
    for (const Knob<GenerationOptions>& knob : generation_knobs())
      if (knob.name != "max_tokens") add_knob_field(fields, knob);
    return std::move(fields).include(context_fields(), &GenerationOptions::context_end);
  }();
  return table;
}

}  // namespace

std::int64_t max_token_limit() {
  return static_cast<std::int64_t>(find_knob(generation_knobs(), "max_tokens").range.max);
}

std::vector<std::string_view> token_limit_names() {
  return find_knob(generation_knobs(), "max_tokens").names();
}

Form<std::optional<std::int64_t>> any_token_limit() {
  return convert<std::optional<std::int64_t>>(whole(-2, max_token_limit()), [](std::int64_t n) {
    return n < 0 ? std::nullopt : std::optional(n);
  });
}

Form<std::optional<std::int64_t>> token_limit(std::int64_t min) {
  const Form<std::int64_t> form = whole(min, max_token_limit());
  const std::string expected = form.expected + ", or -1 for no limit";
  return {expected, forms::either_schema(form.schema, R"({"const":-1})"), kNumber,
          [min, max = max_token_limit(), expected, read = whole().read](
              const Json& json, const Path& path) -> std::optional<std::int64_t> {
            const std::int64_t n = read(json, path);
            if (n == -1) return std::nullopt;
            if (n < min || n > max) refuse(path, expected, json);
            return n;
          }};
}

Form<std::vector<std::string>> stops_form() {
  auto form = convert<std::vector<std::string>>(list(text(), 0, kMaxStops),
                                                [](std::vector<std::string> stops) {
                                                  std::erase(stops, "");
                                                  return stops;
                                                });
  form.expected = "a list of texts";
  return form;
}

Form<std::vector<std::string>> stop_form() {
  return either(convert<std::vector<std::string>>(text(),
                                                  [](std::string one) {
                                                    return one.empty() ? std::vector<std::string>{}
                                                                       : std::vector<std::string>{
                                                                             std::move(one)};
                                                  }),
                stops_form());
}

Form<std::string> cache_salt_form() {
  constexpr std::size_t kMaxBytes = 1024;  // every sequence has a copy
  auto form = text();
  form.expected = fmt::format("a text of at most {} bytes", kMaxBytes);
  form.read = [read = form.read, expected = form.expected](const Json& json, const Path& path) {
    std::string salt = read(json, path);
    if (salt.size() > kMaxBytes) refuse(path, expected);
    return salt;
  };
  return form;
}

std::string sampler_doc(std::string_view name) {
  return std::string(find_knob(sampler_texts(), name).doc);
}

std::string generation_doc(std::string_view name) {
  for (const KnobText& knob : generation_knobs())
    if (knob.name == name) return std::string(knob.doc);
  return std::string(find_knob(generation_texts(), name).doc);
}

const Fields<GenerationFields>& sampling_fields() {
  using G = GenerationFields;
  constexpr std::int64_t kDay = 24 * 3600 * 1000;
  static const auto table =
      Fields<G>()
          .include(sampler_fields(), &G::sampler)
          .include(option_fields(), &G::generation)
          .add("seed", &G::seed, whole(), sampler_doc("seed"))
          .add("logit_bias", &G::logit_bias, bias_form(), sampler_doc("logit_bias"))
          .add("dry_sequence_breakers", &G::dry_sequence_breakers, list(text(), 0, 1024),
               sampler_doc("dry_sequence_breakers"))
          .add("t_max_predict_ms", &G::t_max_predict_ms, whole(-1, kDay),
               generation_doc("t_max_predict_ms"))
          .add("stop_token_ids", &G::stop_token_ids, list(whole(), 0, 1024),
               generation_doc("stop_token_ids"))
          .add("bad_words", &G::bad_words, list(text(), 0, 1024), generation_doc("bad_words"))
          .add("skip_special_tokens", &G::skip_special_tokens, boolean(),
               generation_doc("skip_special_tokens"))
          .add("cache_salt", &G::cache_salt, cache_salt_form(), std::string(kCacheSaltDoc))
          .add("n_cache_reuse", &G::n_cache_reuse, whole(0, 1 << 30),
               "Fewest tokens of a part of the prompt that may be taken from another position; 0: "
               "none. What is taken is not exact.");
  return table;
}

const Fields<GenerationFields>& generation_fields() {
  using G = GenerationFields;
  static const auto table =
      Fields<G>()
          .include(sampling_fields())
          .add("n", &G::n, whole(1, 128), "Number of choices to generate for each prompt.")
          .add("stop", &G::stop, stop_form(), generation_doc("stop"))
          .add("stream", &G::stream, boolean(), "Send the answer in pieces, as it is generated.")
          .add("cache_prompt", &G::cache_prompt, boolean(),
               "Reuse the tokens of slots and kept prompts, and let later requests reuse those of "
               "this one; false does neither.")
          .add("id_slot", &G::id_slot, whole(-1, 1 << 20),
               "Id of the slot to wait for; -1 takes any.")
          .add("priority", &G::priority, whole(-1000, 1000),
               "Priority in the queue; lower numbers leave it first.")
          .add("return_progress", &G::return_progress, boolean(),
               "Send chunks that say how much of the prompt is computed.")
          .add("timings_per_token", &G::timings_per_token, boolean(), "Add timings to every chunk.")
          .refused("use_beam_search", {"false"}, "beam search is not supported")
          .refused("include_stop_str_in_output", {"false"}, "stop strings are never shown")
          .refused("prompt_logprobs", {"false"},
                   "they are not supported; completions have echo and logprobs")
          .refused("truncate_prompt_tokens", {"-1"}, "prompts are never truncated")
          .refused("allowed_token_ids", {"[]"},
                   "lists of tokens are not supported; use logit_bias or a grammar");
  return table;
}

void check_n_choices(std::size_t n_prompts, std::size_t n, std::string_view prompt_param) {
  constexpr std::size_t kMaxChoices = 4096;
  if (n_prompts * n <= kMaxChoices) return;
  throw bad_request(std::string(prompt_param),
                    fmt::format("{} prompts of {} choices are more than {} choices of a request",
                                n_prompts, n, kMaxChoices));
}

GenerationFields initial_generation(const ServedModel& model) {
  GenerationFields fields;
  fields.sampler = model.sampler;
  fields.dry_sequence_breakers = model.dry_breakers;
  fields.cache_prompt = model.reuse;
  fields.n_cache_reuse = model.moved.min_tokens;
  fields.generation.context_end = model.context_end;
  if (model.max_tokens >= 0) fields.max_tokens = model.max_tokens;
  return fields;
}

TextRequest text_request(const ServedModel& model, const GenerationFields& fields,
                         std::vector<TokenId> prompt, int logprobs, std::string_view prompt_param) {
  const std::int64_t context = model.texts->context();
  if (std::ssize(prompt) > context)
    throw context_exceeded(std::string(prompt_param), std::ssize(prompt), context);
  if (fields.id_slot >= model.texts->n_slots())
    throw bad_request(
        "id_slot", fmt::format("no slot {}: there are {}", fields.id_slot, model.texts->n_slots()));
  const std::string at(fields.place);
  TextRequest request{.prompt = std::move(prompt)};
  GenerationOptions& g = request.generation;
  g = fields.generation;
  g.sampler = fields.sampler;
  g.sampler.seed = seed_of(model, fields);
  g.sampler.logit_bias = token_biases(*model.model, fields.logit_bias, at + "logit_bias");
  if (g.sampler.dry_multiplier > 0 && model.model->vocabulary().has_texts())
    g.sampler.dry_breakers = tokens_with(model.model->tokenizer(), fields.dry_sequence_breakers);
  g.rules.tree = model.tree;
  g.rules.stops = fields.stop;
  g.rules.banned = fields.bad_words;
  g.decode.show_special = !fields.skip_special_tokens;
  g.max_tokens = fields.max_tokens.value_or(-1);
  if (fields.t_max_predict_ms > 0) g.max_time = std::chrono::milliseconds(fields.t_max_predict_ms);
  for (std::size_t i = 0; i < fields.stop_token_ids.size(); ++i)
    g.stop_tokens.push_back(checked_token(*model.model, fields.stop_token_ids[i],
                                          fmt::format("{}stop_token_ids[{}]", at, i)));
  g.logprobs = logprobs;
  request.texts = static_cast<std::int32_t>(fields.n);
  request.reuse = fields.cache_prompt;
  request.likely_again = fields.likely_again;
  // What the request asks for itself is not dropped in silence.
  if (fields.n_cache_reuse > 0 && fields.n_cache_reuse != model.moved.min_tokens &&
      (fields.id_slot >= 0 || !fields.cache_prompt))
    throw bad_request(at + "n_cache_reuse", "has no effect with id_slot, or without cache_prompt");
  request.moved = {fields.n_cache_reuse, model.moved.repeated_share};
  request.owner = fields.cache_salt;
  request.slot = static_cast<std::int32_t>(fields.id_slot);
  request.priority = static_cast<int>(-fields.priority);
  return request;
}

}  // namespace weft::api
