#include "weft/run/session_knobs.h"

#include <algorithm>
#include <array>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "weft/base/error.h"
#include "weft/base/text.h"
#include "weft/ops/attention/cache_cells.h"

#include "session/option_json.h"

namespace weft {
namespace {

constexpr std::array kExecutors{ReplayKind::flow, ReplayKind::crew};
constexpr std::string_view kAuto = "auto";

[[noreturn]] void refuse(std::string_view option, const std::vector<std::string>& names,
                         std::string_view name) {
  fail<ValueError>("`{}` must be one of {}, got '{}'", option, fmt::join(names, ", "), name);
}

}  // namespace

std::vector<std::string> value_names(WeightMode) {
  std::vector<std::string> names;
  for (const WeightMode mode : all_weight_modes()) names.emplace_back(to_string(mode));
  return names;
}

std::vector<std::string> value_names(const std::optional<ReplayKind>&) {
  std::vector<std::string> names{std::string(kAuto)};
  for (const ReplayKind kind : kExecutors) names.emplace_back(to_string(kind));
  return names;
}

std::vector<std::string> value_names(DType) {
  std::vector<std::string> names;
  for (const DType type : cache_types()) names.emplace_back(type.name());
  return names;
}

std::string name_of_value(WeightMode mode) {
  return std::string(to_string(mode));
}

std::string name_of_value(const std::optional<ReplayKind>& kind) {
  return std::string(kind ? to_string(*kind) : kAuto);
}

std::string name_of_value(DType dtype) {
  return dtype.valid() ? std::string(dtype.name()) : std::string();
}

void set_by_name(WeightMode& mode, std::string_view option, std::string_view name) {
  const auto found = find_weight_mode(name);
  if (!found) refuse(option, value_names(mode), name);
  mode = *found;
}

void set_by_name(std::optional<ReplayKind>& kind, std::string_view option, std::string_view name) {
  const auto found = std::ranges::find(kExecutors, name, [](ReplayKind k) { return to_string(k); });
  if (found == kExecutors.end() && name != kAuto) refuse(option, value_names(kind), name);
  kind = found == kExecutors.end() ? std::nullopt : std::optional(*found);
}

void set_by_name(DType& dtype, std::string_view option, std::string_view name) {
  const auto found = std::ranges::find(cache_types(), to_lower(name),
                                       [](DType type) { return to_lower(type.name()); });
  if (found == cache_types().end()) refuse(option, value_names(dtype), name);
  dtype = *found;
}

std::string to_json(const SessionOptions& options, Paths paths) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for_each_option(options, [&]<class M>(const KnobText& text, const M& value) {
    if constexpr (run::kHasJson<M>) {
      const bool shown = !text.path || paths == Paths::shown;
      if (!text.c.empty() && shown) json[std::string(text.name)] = run::json_of(value);
    }
  });
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace weft
