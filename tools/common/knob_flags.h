#pragma once
// Flags made from knobs (weft/base/knob.h).

#include <concepts>
#include <functional>
#include <span>
#include <string>

#include "weft/base/knob.h"

#include "common/app.h"

namespace weft::cli {

// The sentence in the form of help texts: "keep only the k most likely tokens; 0 keeps all".
std::string help_text(const KnobText& text);
// For Option::check(): finite numbers in the range.
std::function<std::string(const std::string&)> number_check(bool whole, KnobRange range);

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
      app.add_option(names, value, help_text(knob))
          .capture_default_str()
          .check(number_check(std::integral<M>, range_in<M>(knob.range)))
          .type_name(std::integral<M> ? "N" : "X");
  });
}

}  // namespace weft::cli
