#include "border/options.h"

#include <algorithm>
#include <atomic>
#include <tuple>
#include <type_traits>

#include "weft/base/error.h"
#include "weft/run/session_knobs.h"
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

template <class File>
void add_adapters(const weft_adapter* given, std::size_t n, std::string_view name,
                  std::vector<File>& files) {
  for (const weft_adapter& a : array(given, n, name)) {
    check_reserved(a.reserved, "weft_adapter");
    files.push_back({std::string(required_text(a.path, "path")), a.scale});
  }
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

// The options of sessions by both names, except for callbacks.
constexpr auto kSessionMembers = std::tuple{
    std::pair{&weft_session_options::context, &SessionOptions::context},
    std::pair{&weft_session_options::sequences, &SessionOptions::sequences},
    std::pair{&weft_session_options::cells, &SessionOptions::cells},
    std::pair{&weft_session_options::prefill_width, &SessionOptions::prefill_width},
    std::pair{&weft_session_options::logits_rows, &SessionOptions::logits_rows},
    std::pair{&weft_session_options::workers, &SessionOptions::workers},
    std::pair{&weft_session_options::executor, &SessionOptions::executor},
    std::pair{&weft_session_options::backend, &SessionOptions::backend},
    std::pair{&weft_session_options::route, &SessionOptions::route},
    std::pair{&weft_session_options::cache_k, &SessionOptions::cache_k},
    std::pair{&weft_session_options::cache_v, &SessionOptions::cache_v},
    std::pair{&weft_session_options::weights, &SessionOptions::weights},
    std::pair{&weft_session_options::expert_usage, &SessionOptions::expert_usage},
    std::pair{&weft_session_options::weight_cache, &SessionOptions::weight_cache},
    std::pair{&weft_session_options::passes_off, &SessionOptions::passes_off},
    std::pair{&weft_session_options::mem_budget, &SessionOptions::mem_budget},
    std::pair{&weft_session_options::caller_bytes, &SessionOptions::reserved},
    std::pair{&weft_session_options::separate_tensors, &SessionOptions::separate_tensors},
    std::pair{&weft_session_options::embeddings, &SessionOptions::embeddings},
    std::pair{&weft_session_options::rewind, &SessionOptions::rewind},
    std::pair{&weft_session_options::draft_layer, &SessionOptions::draft_layer}};

template <class Visit>
void for_each_session_member(const Visit& visit) {
  std::apply([&](const auto&... pairs) { (visit(pairs.first, pairs.second), ...); },
             kSessionMembers);
}

// Sets an option to the value that C gave. NULL leaves the default.
template <class N>
requires std::is_arithmetic_v<N>
void take(N given, std::string_view, N& value) {
  value = given;
}
void take(std::uint32_t given, std::string_view name, bool& value) {
  value = is_set(given, name);
}
void take(std::int32_t given, std::string_view name, WeightMode& value) {
  static_assert(static_cast<int>(WeightMode::streamed) == WEFT_WEIGHTS_STREAMED);
  if (given < WEFT_WEIGHTS_AUTO || given > WEFT_WEIGHTS_STREAMED)
    fail<ValueError>("{} must be from 0 to 3 (WEFT_WEIGHTS_..), got {}", name, given);
  value = static_cast<WeightMode>(given);
}
void take(const char* given, std::string_view, std::string& value) {
  if (given) value = given;
}
void take(const char* given, std::string_view, std::vector<std::string>& value) {
  if (given) value = split_list(given, ',');
}
template <class Named>
requires requires(Named value) {
  set_by_name(value, "", "");
}
void take(const char* given, std::string_view name, Named& value) {
  if (given) set_by_name(value, name, given);
}

// What `..._options_init` gives: numbers; texts are NULL.
template <class N>
requires std::is_arithmetic_v<N>
void give(N value, N& given) {
  given = value;
}
template <class Other, class Given>
void give(const Other&, Given&) {}

// The name in C of a member of `object`.
template <class T>
std::string_view name_of(const T& object, const void* member) {
  std::string_view name;
  for_each_option(object, [&](const KnobText& text, const auto& value) {
    if (static_cast<const void*>(&value) == member) name = text.c;
  });
  return name;
}

}  // namespace

weft_session_options default_session_options() {
  weft_session_options options{};
  options.struct_size = sizeof options;
  const SessionOptions defaults;
  for_each_session_member([&](auto c, auto cpp) { give(defaults.*cpp, options.*c); });
  return options;
}

SessionOptions session_options(const weft_session_options* given) {
  const auto o = read_options(given, default_session_options(), "weft_session_options");
  check_reserved(o.reserved, "weft_session_options");
  SessionOptions s;
  for_each_session_member([&](auto c, auto cpp) { take(o.*c, name_of(s, &(s.*cpp)), s.*cpp); });
  s.progress = progress_of(o.progress, o.progress_user);
  s.poll = poll_of(o.poll, o.poll_user);
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
