#pragma once
// Values of options as JSON.

#include <concepts>
#include <string>
#include <type_traits>
#include <vector>

#include <nlohmann/json.hpp>

#include "weft/run/session_knobs.h"

namespace weft::run {

// Types whose values are JSON themselves, ..
template <class M>
inline constexpr bool kIsJson = std::is_arithmetic_v<M> || std::same_as<M, std::string> ||
                                std::same_as<M, std::vector<std::string>>;
// .. or have names.
template <class M>
inline constexpr bool kIsNamed = requires(M value) {
  name_of_value(value);
};
template <class M>
inline constexpr bool kHasJson = kIsJson<M> || kIsNamed<M> || std::same_as<M, ProgramMemory>;

template <class M>
nlohmann::json json_of(const M& value) {
  if constexpr (kIsJson<M>)
    return value;
  else if constexpr (std::same_as<M, ProgramMemory>)
    return static_cast<int>(value);
  else
    return name_of_value(value);
}

// "" leaves a value that has no name. Throws ValueError, or an exception of the library for a value
// of another type.
template <class M>
void set_from_json(M& value, std::string_view name, const nlohmann::json& json) {
  if constexpr (kIsJson<M>)
    json.get_to(value);
  else if constexpr (std::same_as<M, ProgramMemory>)
    value = static_cast<ProgramMemory>(json.get<int>());
  else if (const auto of_value = json.get<std::string>(); !of_value.empty())
    set_by_name(value, name, of_value);
}

}  // namespace weft::run
