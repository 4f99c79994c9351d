#pragma once
// Flags made from knobs (weft/base/knob.h).

#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "weft/base/knob.h"
#include "weft/base/text.h"

#include "common/app.h"

namespace weft::cli {

// The sentence in the form of help texts: "keep only the k most likely tokens; 0 keeps all".
std::string help_text(const KnobText& text);

// Limits a number of type M to the range, as far as the type can hold it.
template <class M>
Option with_limits(const Option& option, KnobRange range) {
  const KnobRange limits = range_in<M>(range);
  return option.number(std::integral<M>, limits.min, limits.max);
}

// The flags of those knobs that have one. They set the members of `target`, whose values are shown
// as defaults.
template <class T>
void add_knob_flags(App& app, std::span<const Knob<T>> knobs, T& target) {
  for_each_knob(knobs, target, [&app]<class M>(const Knob<T>& knob, M& value) {
    const std::string names(knob.flags);
    if (names.empty()) return;
    if constexpr (std::same_as<M, bool>)
      app.add_flag(names, value, help_text(knob));
    else
      with_limits<M>(app.add_option(names, value, help_text(knob)).capture_default_str(),
                     knob.range)
          .type_name(std::integral<M> ? "N" : "X");
  });
}

// Types that flags can set: numbers, texts, lists of them, and those whose values have names
// (weft/run/session_knobs.h).
template <class M>
concept FlagValue = std::is_arithmetic_v<M> || std::same_as<M, std::string> ||
    std::same_as<M, std::vector<std::string>> || requires(M value) {
  value_names(value);
};

// The flag of an option, which sets `value`. `text` and `value` outlive the parsing.
template <FlagValue M>
Option add_value_flag(App& app, const KnobText& text, KnobRange range, M& value) {
  const std::string names(text.flags), type(text.value), help = help_text(text);
  if constexpr (std::same_as<M, bool>) {
    return app.add_flag(names, value, help);
  } else if constexpr (std::is_arithmetic_v<M>) {
    return with_limits<M>(app.add_option(names, value, help), range).type_name(type);
  } else if constexpr (std::same_as<M, std::string>) {
    return app.add_option(names, value, help).type_name(type);
  } else if constexpr (std::same_as<M, std::vector<std::string>>) {
    return app.add_option(names, value, help).take_all().type_name(type);
  } else {
    std::vector<std::string> allowed = value_names(value);
    for (std::string& name : allowed) name = to_lower(name);
    const auto set = [&value, &text](const std::string& name) {
      set_by_name(value, text.name, name);
    };
    return app.add_option_function(names, App::Function<std::string>(set), help)
        .one_of(allowed)
        .type_name(type);
  }
}

// The flag of the described option of this name. REQUIRES: there is one of a FlagValue.
template <class T>
Option add_option_flag(App& app, T& target, std::string_view name) {
  std::optional<Option> made;
  visit_option<T>(name, [&](const auto& option) {
    auto& value = target.*option.member;
    if constexpr (FlagValue<std::remove_reference_t<decltype(value)>>)
      made = add_value_flag(app, option, option.range, value);
  });
  return made.value();
}

// The range of the described number of this name.
template <class T>
KnobRange range_of(std::string_view name) {
  KnobRange range;
  visit_option<T>(name, [&](const auto& option) { range = option.range; });
  return range;
}

}  // namespace weft::cli
