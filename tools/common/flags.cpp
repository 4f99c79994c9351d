#include "common/flags.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <limits>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "weft/backends/plugins.h"
#include "weft/base/error.h"
#include "weft/base/text.h"
#include "weft/ops/attention/cache_cells.h"
#include "weft/quantize/quantize.h"
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

std::vector<std::string> executor_names() {
  std::vector<std::string> names{"auto"};
  for (const ReplayKind kind : {ReplayKind::flow, ReplayKind::crew})
    names.emplace_back(to_string(kind));
  return names;
}

std::optional<ReplayKind> executor_of(const std::string& name) {
  for (const ReplayKind kind : {ReplayKind::flow, ReplayKind::crew})
    if (name == to_string(kind)) return kind;
  return std::nullopt;
}

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

void add_cache_flag(App& app, const char* names, DType& dtype, const char* what) {
  const auto name_of = [](DType type) { return to_lower(type.name()); };
  std::vector<std::string> allowed;
  std::ranges::transform(cache_types(), std::back_inserter(allowed), name_of);
  app.add_option_function(
         names,
         [&dtype, name_of](const std::string& name) {
           dtype = *std::ranges::find(cache_types(), name, name_of);
         },
         fmt::format("{} in the cache: {}; q8_0 and q4_0 need a head size that is a multiple of 32",
                     what, fmt::join(allowed, ", ")))
      .one_of(allowed)
      .type_name("TYPE");
}

void add_weights_flag(App& app, WeightMode& mode) {
  std::vector<std::string> names;
  for (const WeightMode m : all_weight_modes()) names.emplace_back(to_string(m));
  app.add_option_function(
         "--weights",
         [&mode](const std::string& name) { mode = find_weight_mode(name).value_or(mode); },
         "mapped: used directly from the file; resident: copied into the fastest layout; streamed: "
         "read from disk while tokens are computed, as far as the budget has no room for them; "
         "auto: resident if that is faster and fits, streamed if the model does not fit")
      .one_of(names)
      .type_name("MODE");
}

void add_weight_cache_flag(App& app, std::string& folder) {
  app.add_option(
         "--weight-cache,--panel-cache", folder,
         "folder for weights in the fastest layout: the first start writes them, later ones "
         "map them, or stream from them; nothing is ever removed from it")
      .type_name("DIR");
}

// "flow", "crew", or "auto".
void add_executor_flag(App& app, std::optional<ReplayKind>& executor) {
  app.add_option_function(
         "--executor", [&executor](const std::string& name) { executor = executor_of(name); },
         "who runs the plan on several workers: flow (a oneTBB flow graph), crew (workers that "
         "spin at joins), auto (weft plan shows the choice and the reason)")
      .one_of(executor_names())
      .type_name("NAME");
}

// How much goes into a step, and who computes it.
void add_step_flags(App& app, SessionOptions& s) {
  app.add_option("-c,--ctx-size", s.context,
                 "size of the context in tokens; 0: that of the model, at most 4096")
      .range(0, (std::int64_t{1} << 31) - 1)
      .type_name("N");
  app.add_option("-b,--batch-size", s.prefill_width, "max tokens of the prompt in one step")
      .range(1, kMaxPrefillWidth)
      .type_name("N");
  app.add_option("-t,--threads", s.workers, "threads; 0: two, or one with one CPU")
      .range(0, kMaxWorkers)
      .type_name("N");
  add_executor_flag(app, s.executor);
}

void add_backend_flags(App& app, SessionOptions& s) {
  app.add_option("--backend", s.backend,
                 "backend: cpu, reference, or a plug-in (weft backends lists them)")
      .type_name("NAME");
  app.add_option_function(
         "--backend-path",
         [](const std::vector<std::string>& paths) {
           for (const std::string& path : paths) load_plugins(path);
         },
         "load backends from a shared library or a folder of them; also WEFT_BACKEND_PATH")
      .take_all()
      .type_name("PATH");
  app.add_option(
         "--route", s.route,
         "backends by path: 'blk.3.ffn_*=reference,*=cpu'; first match counts (see weft plan)")
      .type_name("RULES");
}

// How weights and caches are stored, and the limit of memory.
void add_memory_flags(App& app, ModelFlags& flags) {
  SessionOptions& s = flags.session;
  add_cache_flag(app, "--cache-type-k", s.cache_k, "keys");
  add_cache_flag(app, "--cache-type-v", s.cache_v, "values");
  add_weights_flag(app, s.weights);
  add_weight_cache_flag(app, s.weight_cache);
  app.add_option("--quantize", flags.quantize,
                 "convert F32, F16 and BF16 weights to this type when loading: Q8_0, Q4_K_M, ... "
                 "(weft quantize --help lists them)")
      .check(check_mix)
      .type_name("TYPE");
  app.add_option_function(
         "--mem-budget",
         [&s](const std::string& text) {
           s.mem_budget = size_flag(text);
           s.program = ProgramMemory::process;
         },
         "memory limit of the process, for example 6G; default: the memory that it may use")
      .type_name("SIZE");
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
  app.add_option_function(
         "--expert-usage",
         [&s](const std::string& file) { s.expert_usage = file == "off" ? "" : file; },
         "file that keeps how often the experts of a streamed model are chosen, so that the next "
         "start begins with those (default: auto, MODEL.experts); off: none")
      .type_name("FILE");
}

void add_model_flags(App& app, ModelFlags& flags) {
  app.last_value_counts();
  SessionOptions& s = flags.session;
  s.progress = load_progress;
  s.warn = [](const std::string& text) { std::cerr << "warning: " << text << '\n'; };
  flags.path = bundled_model();
  const std::string what = "GGUF file, or directory of safetensors";
  if (flags.path.empty())
    app.add_option("-m,--model", flags.path, what).type_name("FILE").required();
  else
    app.add_option("-m,--model", flags.path, what + " (default: the bundled model)")
        .type_name("FILE");
  add_step_flags(app, s);
  add_backend_flags(app, s);
  add_extension_flag(app);
  add_memory_flags(app, flags);
  add_adapter_flags(app, flags.adapters);
  add_override_flag(app, flags.overrides);
  add_unknown_settings_flag(app, flags.allow_unknown_settings);
  add_shard_flags(app, flags);
  app.add_option("--no-pass", s.passes_off,
                 "skip a graph pass (weft dot --passes lists them), or 'all'")
      .take_all()
      .type_name("NAME");
}

Option add_cells_flag(App& app, SessionOptions& session) {
  return app
      .add_option(
          "--cache-cells", session.cells,
          "cells (one per token) that all sequences share, in whole blocks of 64; 0: as many "
          "as all contexts together. Text that does not fit into them is refused")
      .range(0, (std::int64_t{1} << 31) - 1)
      .type_name("N");
}

Option add_length_flag(App& app, std::int64_t& max_tokens, std::string_view more) {
  const auto& knob = find_knob(generation_knobs(), "max_tokens");
  return app.add_option(std::string(knob.flags), max_tokens, help_text(knob).append(more))
      .check(number_check(/*whole=*/true, knob.range))
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
    std::exit(0);
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
