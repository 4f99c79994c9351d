#pragma once
// Fields of requests and members of answers made from knobs (weft/base/knob.h).

#include <cmath>
#include <concepts>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "weft/api/fields.h"
#include "weft/api/forms.h"
#include "weft/api/json_text.h"
#include "weft/base/knob.h"

namespace weft::api {

namespace fields {
// The form of a member of type M.
template <class M>
auto knob_form(KnobRange range) {
  range = range_in<M>(range);
  if constexpr (std::same_as<M, bool>) {
    return boolean();
  } else if constexpr (std::floating_point<M>) {
    return number(range.min, range.max);
  } else {
    // Limits beyond 2^53 are those of the type.
    using Limits = std::numeric_limits<std::int64_t>;
    const auto limit = [](double value, std::int64_t beyond) {
      return std::abs(value) > 9e15 ? beyond : static_cast<std::int64_t>(value);
    };
    return whole(limit(range.min, Limits::min()), limit(range.max, Limits::max()));
  }
}
}  // namespace fields

// A field for each name of the knob.
template <class T>
void add_knob_field(Fields<T>& table, const Knob<T>& knob) {
  std::visit(
      [&]<class M>(M T::*member) {
        table
            .add(std::string(knob.name), member,
                 fields::knob_form<M>(knob.request_range.value_or(knob.range)),
                 std::string(knob.doc))
            .aliases(knob.names(), knob.name);
      },
      knob.member);
}

// Those of all knobs.
template <class T>
Fields<T> knob_fields(std::span<const Knob<T>> knobs) {
  Fields<T> table;
  for (const Knob<T>& knob : knobs) add_knob_field(table, knob);
  return table;
}

// The values of all knobs, by their names.
template <class T>
void add_knobs(JsonObject& json, std::span<const Knob<T>> knobs, const T& object) {
  for_each_knob(knobs, object,
                [&json](const KnobText& text, const auto& value) { json.add(text.name, value); });
}

}  // namespace weft::api
