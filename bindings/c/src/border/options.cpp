#include "border/options.h"

#include <algorithm>
#include <atomic>
#include <tuple>
#include <type_traits>

#include "weft/base/error.h"
#include "weft/ops/attention/cache_cells.h"
#include "weft/sample/sampler_knobs.h"

#include "border/arguments.h"
#include "border/call.h"
#include "border/values.h"

namespace weft::c_api {
namespace {

// The parameters of samplers by both names.
constexpr auto kSamplerMembers = std::tuple{
    std::pair{&weft_sampler_options::seed, &SamplerOptions::seed},
    std::pair{&weft_sampler_options::top_k, &SamplerOptions::top_k},
    std::pair{&weft_sampler_options::temperature, &SamplerOptions::temperature},
    std::pair{&weft_sampler_options::top_p, &SamplerOptions::top_p},
    std::pair{&weft_sampler_options::min_p, &SamplerOptions::min_p},
    std::pair{&weft_sampler_options::typical_p, &SamplerOptions::typical_p},
    std::pair{&weft_sampler_options::top_n_sigma, &SamplerOptions::top_n_sigma},
    std::pair{&weft_sampler_options::tfs_z, &SamplerOptions::tail_free_z},
    std::pair{&weft_sampler_options::repeat_penalty, &SamplerOptions::repeat_penalty},
    std::pair{&weft_sampler_options::frequency_penalty, &SamplerOptions::frequency_penalty},
    std::pair{&weft_sampler_options::presence_penalty, &SamplerOptions::presence_penalty},
    std::pair{&weft_sampler_options::repeat_last_n, &SamplerOptions::penalty_last_n},
    std::pair{&weft_sampler_options::dynatemp_range, &SamplerOptions::dynamic_range},
    std::pair{&weft_sampler_options::dynatemp_exponent, &SamplerOptions::dynamic_exponent},
    std::pair{&weft_sampler_options::xtc_probability, &SamplerOptions::xtc_probability},
    std::pair{&weft_sampler_options::xtc_threshold, &SamplerOptions::xtc_threshold},
    std::pair{&weft_sampler_options::dry_multiplier, &SamplerOptions::dry_multiplier},
    std::pair{&weft_sampler_options::dry_base, &SamplerOptions::dry_base},
    std::pair{&weft_sampler_options::dry_allowed_length, &SamplerOptions::dry_allowed_length},
    std::pair{&weft_sampler_options::dry_penalty_last_n, &SamplerOptions::dry_last_n},
    std::pair{&weft_sampler_options::mirostat, &SamplerOptions::mirostat},
    std::pair{&weft_sampler_options::mirostat_tau, &SamplerOptions::mirostat_tau},
    std::pair{&weft_sampler_options::mirostat_eta, &SamplerOptions::mirostat_eta},
    std::pair{&weft_sampler_options::adaptive_target, &SamplerOptions::adaptive_target},
    std::pair{&weft_sampler_options::adaptive_decay, &SamplerOptions::adaptive_decay}};

template <class Visit>
void for_each_member(const Visit& visit) {
  std::apply([&](const auto&... pairs) { (visit(pairs.first, pairs.second), ...); },
             kSamplerMembers);
}

void check_ranges(const SamplerOptions& options) {
  for_each_knob(sampler_knobs(), options, [](const auto& knob, auto value) {
    constexpr bool kWhole = !std::is_floating_point_v<decltype(value)>;
    if (!knob.range.contains(static_cast<double>(value)))
      fail<ValueError>("{} must be {}, got {}", knob.name, expected_number(kWhole, knob.range),
                       value);
  });
}

DType cache_type(const char* name) {
  if (!name) return {};
  for (const DType type : cache_types()) {
    if (type.name() == name) return type;
  }
  fail<ValueError>("a cache must be of one of the types {}, got '{}'", cache_type_names(), name);
}

template <class File>
void add_adapters(const weft_adapter* given, std::size_t n, std::string_view name,
                  std::vector<File>& files) {
  for (const weft_adapter& a : array(given, n, name)) {
    check_reserved(a.reserved, "weft_adapter");
    files.push_back({std::string(required_text(a.path, "path")), a.scale});
  }
}

std::optional<ReplayKind> executor_of(const char* name) {
  if (!name) return std::nullopt;
  for (const ReplayKind kind : {ReplayKind::flow, ReplayKind::crew}) {
    if (to_string(kind) == name) return kind;
  }
  fail<ValueError>("executor must be 'flow' or 'crew', got '{}'", name);
}

KeyOverride override_of(const NamedValue& v) {
  using Value = decltype(KeyOverride::value);
  KeyOverride made{std::string(v.name), {}};
  std::visit(
      [&]<class T>(T value) {
        if constexpr (std::is_same_v<T, std::string_view>) {
          made.value = std::string(value);
        } else {
          made.value = Value(value);
        }
      },
      v.value);
  check(made);
  return made;
}

WeightMode weight_mode(std::int32_t mode) {
  static_assert(static_cast<int>(WeightMode::streamed) == WEFT_WEIGHTS_STREAMED);
  if (mode < WEFT_WEIGHTS_AUTO || mode > WEFT_WEIGHTS_STREAMED)
    fail<ValueError>("weights must be from 0 to 3 (WEFT_WEIGHTS_..), got {}", mode);
  return static_cast<WeightMode>(mode);
}

}  // namespace

weft_session_options default_session_options() {
  const SessionOptions d;
  return {.struct_size = sizeof(weft_session_options),
          .sequences = d.sequences,
          .context = d.context,
          .cells = d.cells,
          .prefill_width = d.prefill_width,
          .logits_rows = d.logits_rows,
          .workers = d.workers};
}

SessionOptions session_options(const weft_session_options* given) {
  const auto o = read_options(given, default_session_options(), "weft_session_options");
  check_reserved(o.reserved, "weft_session_options");
  SessionOptions s{.context = o.context,
                   .sequences = o.sequences,
                   .cells = o.cells,
                   .prefill_width = o.prefill_width,
                   .logits_rows = o.logits_rows,
                   .workers = o.workers,
                   .executor = executor_of(o.executor),
                   .backend = std::string(text_or(o.backend, "cpu")),
                   .route = std::string(text_or(o.route)),
                   .cache_k = cache_type(o.cache_k),
                   .cache_v = cache_type(o.cache_v),
                   .weights = weight_mode(o.weights),
                   .expert_usage = std::string(text_or(o.expert_usage)),
                   .weight_cache = std::string(text_or(o.weight_cache)),
                   .passes_off = split_list(o.passes_off, ','),
                   .mem_budget = o.mem_budget,
                   .reserved = o.caller_bytes,
                   .reuse_arena = !is_set(o.separate_tensors, "separate_tensors"),
                   .embeddings = is_set(o.embeddings, "embeddings"),
                   .rewind = o.rewind,
                   .draft_layer = is_set(o.draft_layer, "draft_layer"),
                   .progress = progress_of(o.progress, o.progress_user),
                   .poll = poll_of(o.poll, o.poll_user)};
  if (o.log)
    s.warn = [log = o.log, user = o.log_user](const std::string& line) { log_to(log, user, line); };
  return s;
}

ModelOptions model_options(const weft_model_options& o) {
  ModelOptions options{
      .progress = progress_of(o.progress, o.progress_user),
      .quantize = std::string(text_or(o.quantize)),
      .allow_unknown_settings = is_set(o.allow_unknown_settings, "allow_unknown_settings"),
      .draft_file = std::string(text_or(o.draft_file))};
  if (o.overrides && *o.overrides) options.overrides = parse_key_overrides(o.overrides);
  for (const NamedValue& v :
       named_values(o.override_values, o.n_override_values, "override_values"))
    options.overrides.push_back(override_of(v));
  add_adapters(o.loras, o.n_loras, "loras", options.adapters.loras);
  add_adapters(o.control_vectors, o.n_control_vectors, "control_vectors",
               options.adapters.control_vectors);
  if (o.control_first_layer != 0 || o.control_last_layer != 0)
    options.adapters.control_layers = ControlLayers{o.control_first_layer, o.control_last_layer};
  return options;
}

weft_sampler_options default_sampler_options() {
  weft_sampler_options options{};
  options.struct_size = sizeof options;
  const SamplerOptions defaults;
  for_each_member([&](auto c, auto cpp) { options.*c = defaults.*cpp; });
  return options;
}

SamplerOptions sampler_options(const weft_sampler_options* given) {
  const auto o = read_options(given, default_sampler_options(), "weft_sampler_options");
  SamplerOptions options;
  for_each_member([&](auto c, auto cpp) { options.*cpp = o.*c; });
  check_ranges(options);
  for (const weft_logit_bias& b : array(o.logit_bias, o.n_logit_bias, "logit_bias"))
    options.logit_bias.emplace_back(b.token, b.bias);
  const auto breakers = array(o.dry_breakers, o.n_dry_breakers, "dry_breakers");
  options.dry_breakers.assign(breakers.begin(), breakers.end());
  if (o.order && *o.order) options.order = sampler_order(split_list(o.order, ';'));
  return options;
}

SamplerOptions sampler_options(const weft_sampler_options* given, std::int64_t n_vocab) {
  SamplerOptions options = sampler_options(given);
  for (const auto& [token, bias] : options.logit_bias)
    check_tokens({&token, 1}, n_vocab, "logit_bias");
  check_tokens(options.dry_breakers, n_vocab, "dry_breakers");
  return options;
}

void log_to(weft_log log, void* user, const std::string& line) {
  if (!log) return;
  callback([&] { log(user, line.c_str()); });
}

std::function<bool()> poll_of(weft_poll poll, void* user) {
  if (!poll) return {};
  return [=] { return callback([&] { return poll(user); }) == 0; };
}

std::function<bool(double)> progress_of(weft_progress progress, void* user) {
  if (!progress) return {};
  return [=](double share) { return callback([&] { return progress(user, share); }) == 0; };
}

std::function<void(std::int64_t, std::int64_t)> token_progress_of(weft_token_progress progress,
                                                                  void* user,
                                                                  std::atomic<bool>& cancel) {
  if (!progress) return {};
  return [=, &cancel](std::int64_t done, std::int64_t total) {
    if (callback([&] { return progress(user, done, total); }) != 0) cancel = true;
  };
}

std::vector<std::string> strings_of(const weft_string* strings, std::size_t n,
                                    std::string_view name) {
  std::vector<std::string> all;
  for (const weft_string& s : array(strings, n, name)) all.emplace_back(text(s, name));
  return all;
}

std::vector<std::string> split_list(const char* text, char separator) {
  std::vector<std::string> parts;
  std::string_view rest = text_or(text);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(separator), rest.size());
    if (end > 0) parts.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return parts;
}

}  // namespace weft::c_api

using namespace weft;
using namespace weft::c_api;

weft_status weft_session_options_init(weft_session_options* options, size_t size) {
  return call(nullptr, [&] {
    init_options(options, size, default_session_options(), "weft_session_options");
  });
}

weft_status weft_sampler_options_init(weft_sampler_options* options, size_t size) {
  return call(nullptr, [&] {
    init_options(options, size, default_sampler_options(), "weft_sampler_options");
  });
}

weft_status weft_model_options_init(weft_model_options* options, size_t size) {
  return call(nullptr, [&] {
    init_options(options, size, weft_model_options{.struct_size = sizeof(weft_model_options)},
                 "weft_model_options");
  });
}
