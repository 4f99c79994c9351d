#include "common/flags.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <limits>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "weft/backends/plugins.h"
#include "weft/base/error.h"
#include "weft/base/text.h"
#include "weft/quantize/quantize.h"
#include "weft/run/model_knobs.h"
#include "weft/run/ranks.h"
#include "weft/sample/sampler_knobs.h"
#include "weft/scheduler/budget.h"
#include "weft/serve/generation_knobs.h"
#include "weft/serve/text_rules.h"

#include "common/adapter_flags.h"
#include "common/extension_flag.h"
#include "common/knob_flags.h"
#include "common/override_flags.h"
#include "common/program.h"
#include "common/rank_flags.h"

namespace weft::cli {

namespace {

constexpr const char* kBundled = "models/weft-stories.gguf";

std::int64_t size_flag(const std::string& text) {
  try {
    return parse_size(text);
  } catch (const ValueError& error) {
    reject_value("--mem-budget", error.what());
  }
}

std::string check_mix(const std::string& name) {
  try {
    check(QuantizeOptions{.type = name});
    return "";
  } catch (const ValueError& error) {
    return error.what();
  }
}

// How much goes into a step, and who computes it.
void add_step_flags(App& app, SessionOptions& s) {
  for (const char* name : {"context", "prefill_width", "workers", "executor"})
    add_option_flag(app, s, name);
}

void add_backend_flags(App& app, SessionOptions& s) {
  add_option_flag(app, s, "backend");
  app.add_option_function(
         "--backend-path",
         [](const std::vector<std::string>& paths) {
           for (const std::string& path : paths) load_plugins(path);
         },
         "load backends from a shared library or a folder of them; also WEFT_BACKEND_PATH")
      .take_all()
      .type_name("PATH");
  add_option_flag(app, s, "route");
}

// How weights and caches are stored, and the limit of memory.
void add_memory_flags(App& app, ModelFlags& flags) {
  SessionOptions& s = flags.session;
  for (const char* name : {"cache_k", "cache_v", "weights", "weight_cache"})
    add_option_flag(app, s, name);
  add_value_flag(app, described<ModelOptions>("quantize"), {}, flags.quantize).check(check_mix);
  const KnobText& budget = described<SessionOptions>("mem_budget");
  const auto set_budget = [&s](const std::string& text) {
    s.mem_budget = size_flag(text);
    s.program = ProgramMemory::process;
  };
  app.add_option_function(std::string(budget.flags), App::Function<std::string>(set_budget),
                          help_text(budget) + "; also with a unit: 6G")
      .type_name(std::string(budget.value));
}

}  // namespace

std::string bundled_model() {
  if (const char* named = std::getenv("WEFT_MODEL"); named && *named) return named;
  std::error_code error;
  std::filesystem::path above = std::filesystem::read_symlink("/proc/self/exe", error);
  while (above.has_relative_path()) {
    above = above.parent_path();
    for (const char* folder : {"share/weft", "examples"}) {
      const std::filesystem::path model = above / folder / kBundled;
      if (std::filesystem::is_regular_file(model, error)) return model.string();
    }
  }
  return "";
}

void add_expert_usage_flag(App& app, ModelFlags& flags) {
  SessionOptions& s = flags.session;
  s.expert_usage = "auto";
  const Option flag = add_option_flag(app, s, "expert_usage");
  flag.description(help_text(described<SessionOptions>("expert_usage")) + " (default: auto)");
}

void add_model_flags(App& app, ModelFlags& flags) {
  app.last_value_counts();
  SessionOptions& s = flags.session;
  s.progress = load_progress;
  s.warn = [](const std::string& text) { std::cerr << "warning: " << text << '\n'; };
  flags.path = bundled_model();
  const std::string what = "GGUF file, or directory of safetensors";
  if (flags.path.empty())
    app.add_option("-m,--model", flags.path, what)
        .type_name("FILE")
        .file_suffix(".gguf")
        .required();
  else
    app.add_option("-m,--model", flags.path, what + " (default: the bundled model)")
        .type_name("FILE")
        .file_suffix(".gguf");
  add_step_flags(app, s);
  add_backend_flags(app, s);
  add_extension_flag(app);
  add_memory_flags(app, flags);
  add_adapter_flags(app, flags.adapters);
  add_override_flag(app, flags.overrides);
  add_unknown_settings_flag(app, flags.allow_unknown_settings);
  add_shard_flags(app, flags);
  add_option_flag(app, s, "passes_off");
}

Option add_cells_flag(App& app, SessionOptions& session) {
  return add_option_flag(app, session, "cells");
}

void add_context_flags(App& app, ContextEndOptions& options) {
  for (const char* name : {"context_end", "keep", "discard", "cache_evict"})
    add_option_flag(app, options, name);
}

Option add_length_flag(App& app, std::int64_t& max_tokens, std::string_view more) {
  const auto& knob = find_knob(generation_knobs(), "max_tokens");
  return app.add_option(std::string(knob.flags), max_tokens, help_text(knob).append(more))
      .number(/*whole=*/true, knob.range.min, knob.range.max)
      .type_name("N");
}

ModelOptions model_options(const ModelFlags& flags) {
  return {.quantize = flags.quantize,
          .overrides = flags.overrides,
          .allow_unknown_settings = flags.allow_unknown_settings,
          .adapters = flags.adapters,
          .draft_file = flags.draft_file,
          .sharding = flags.sharding,
          .lone_rank = flags.lone_rank,
          .slow_link = flags.slow_link,
          .rank_timeout = flags.rank_timeout,
          .rank_budget = flags.session.mem_budget,
          .rank_workers = flags.session.workers};
}

std::shared_ptr<const Model> load_model(const ModelFlags& flags,
                                        const std::function<bool(double)>& progress) {
  ModelOptions options = model_options(flags);
  options.progress = progress;
  check_launch(flags);
  if (flags.lone_rank < 0 && follows_rank_0()) {
    follow_rank_0(flags.path, options);
    throw RankEnded();
  }
  auto model = Model::load(flags.path, options);
  for (const std::string& warning : model->warnings()) std::cerr << "warning: " << warning << '\n';
  return model;
}

std::shared_ptr<const Model> load_inspected_model(ModelFlags& flags,
                                                  const std::function<bool(double)>& progress) {
  auto model = load_model(flags, progress);
  if (!model->facts().has_output) flags.session.embeddings = true;
  return model;
}

void print_concessions(const Session& session) {
  for (const std::string& given_up : session.concessions())
    std::cerr << "to meet the budget: " << given_up << '\n';
  const std::int64_t context = session.options().context, trained = session.model().facts().context;
  if (context > trained)
    std::cerr << fmt::format("warning: a context of {} tokens, but the model was trained for {}\n",
                             context, trained);
}

namespace {

// "15+0.5", "15-inf"
std::pair<TokenId, float> parse_bias(const std::string& text) {
  const std::size_t sign = text.find_first_of("+-");
  char* end = nullptr;
  const long id = std::strtol(text.c_str(), &end, 10);
  if (sign == text.npos || sign == 0 || end != text.c_str() + sign || id > INT32_MAX)
    reject_value("--logit-bias", "must be ID+BIAS or ID-BIAS, got " + text);
  const float bias = std::strtof(text.c_str() + sign, &end);
  if (*end != '\0' || end == text.c_str() + sign || !(bias < std::numeric_limits<float>::max()))
    reject_value("--logit-bias", "must be ID+BIAS or ID-BIAS, got " + text);
  return {static_cast<TokenId>(id), bias};
}

// "top_k;temperature", or letters as in "kt".
void set_order(SamplerOptions& options, const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(';', at), text.size());
    if (end > at) names.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  try {
    options.order = names.size() == 1 && !is_sampler(text) && text.find_first_of(";_-") == text.npos
                        ? sampler_order_of_letters(text)
                        : sampler_order(names);
  } catch (const Error& error) {
    reject_value("--samplers", error.what());
  }
}

// A flag that may be given several times.
void add_list_flag(App& app, const KnobText& text, const App::Function<std::vector<std::string>>& f,
                   std::string_view more, const char* type) {
  app.add_option_function(std::string(text.flags), f, help_text(text).append(more))
      .take_all()
      .allow_extra_args(false)
      .type_name(type);
}

// The parameters of sampler_texts().
void add_special_flags(App& app, SamplerFlags& options) {
  const std::span<const KnobText> texts = sampler_texts();
  const KnobText &seed = find_knob(texts, "seed"), &order = find_knob(texts, "samplers");
  app.add_option_function(
         std::string(seed.flags),
         [&options](std::int64_t value) {
           if (value >= 0) options.seed = static_cast<std::uint64_t>(value);
         },
         help_text(seed))
      .range(-1, std::numeric_limits<std::int64_t>::max())
      .type_name("N");
  app.add_option_function(
         std::string(order.flags),
         [&options](const std::string& text) { set_order(options, text); },
         fmt::format("{} (default: {})", help_text(order), fmt::join(kSamplerOrder, ";")))
      .type_name("A;B;...");
  app.add_option_function("--sampler-seq,--sampling-seq",
                          App::Function<std::string>([&options](const std::string& text) {
                            try {
                              options.order = sampler_order_of_letters(text);
                            } catch (const Error& error) {
                              reject_value("--sampler-seq", error.what());
                            }
                          }),
                          "the same as letters: " + sampler_letters())
      .type_name("LETTERS");
  add_list_flag(
      app, find_knob(texts, "logit_bias"),
      [&options](const std::vector<std::string>& biases) {
        for (const std::string& bias : biases) options.logit_bias.push_back(parse_bias(bias));
      },
      ": ID+BIAS or ID-BIAS, several times", "BIAS");
  add_list_flag(
      app, find_knob(texts, "dry_sequence_breakers"),
      [&options](const std::vector<std::string>& breakers) {
        options.dry_breaker_texts = breakers;
        std::erase(options.dry_breaker_texts, "none");
      },
      " (default: line end, ':', '\"', '*'; none: an empty list)", "TEXT");
}

}  // namespace

void add_sampler_flags(App& app, SamplerFlags& options) {
  options.seed = std::random_device{}();
  add_knob_flags<SamplerOptions>(app, sampler_knobs(), options);
  add_special_flags(app, options);
}

SamplerOptions sampler_options(const Model& model, const SamplerFlags& flags) {
  SamplerOptions options = flags;
  if (options.dry_multiplier != 0.0F && model.vocabulary().has_texts())
    options.dry_breakers = tokens_with(model.tokenizer(), flags.dry_breaker_texts);
  return options;
}

}  // namespace weft::cli
