#pragma once
// Knobs: the parameters of a struct that people set, each described once. Tables of them make the
// flags of programs, the fields of requests with their schemas, the settings that answers report,
// and the tables in docs/.
//
//   struct Options { int top_k = 40; };
//   constexpr Knob<Options> kKnobs[] = {
//       {{.name = "top_k", .doc = "Keep the k most likely tokens; 0 keeps all.", .flags =
//       "--top-k"},
//        &Options::top_k,
//        {.min = 0}}};
//
// The default of a knob is the value of its member in a new T.

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace weft {

// A parameter as people see it.
struct KnobText {
  std::string_view name;  // in request fields and reports
  // One self-contained sentence. It says which value switches the parameter off.
  std::string_view doc;
  std::string_view flags = {};    // "-s,--seed"; empty: there is none,
  std::string_view no_flag = {};  // for this reason
  // The names that other servers and clients use. Requests may use all of them.
  std::array<std::string_view, 4> aliases = {};

  // The name, then the aliases.
  std::vector<std::string_view> names() const;
};

// REQUIRES: one of the texts has this name.
const KnobText& find_knob(std::span<const KnobText> texts, std::string_view name);

// Both limits are inclusive.
struct KnobRange {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();

  bool contains(double value) const { return value >= min && value <= max; }
};

// "a number", "a whole number from 1", "a number from 0 to 1"
std::string expected_number(bool whole, KnobRange range);

template <class T>
struct Knob : KnobText {
  std::variant<bool T::*, int T::*, std::int64_t T::*, float T::*> member;
  KnobRange range = {};  // for numbers
  // The range of requests, if the interface that defines the field has a narrower one.
  std::optional<KnobRange> request_range = {};
};

// REQUIRES: one of the knobs has this name.
template <class T>
const Knob<T>& find_knob(std::span<const Knob<T>> knobs, std::string_view name) {
  return *std::ranges::find(knobs, name, &Knob<T>::name);
}

// Calls visit(knob, member) for each knob with the member of `object`, which may be const.
template <class T, class Object, class Visit>
requires std::same_as<std::remove_const_t<Object>, T>
void for_each_knob(std::span<const Knob<T>> knobs, Object& object, Visit visit) {
  for (const Knob<T>& knob : knobs)
    std::visit([&](auto member) { visit(knob, object.*member); }, knob.member);
}

// The part of the range that numbers of type M can have.
template <class M>
KnobRange range_in(KnobRange range) {
  using Limits = std::numeric_limits<M>;
  range.min = std::max(range.min, static_cast<double>(Limits::lowest()));
  range.max = std::min(range.max, static_cast<double>(Limits::max()));
  return range;
}

}  // namespace weft
