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
#include <tuple>
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
  std::string_view group = {};  // the section of tables: "sequences", "weights"
  std::string_view unit = {};   // what numbers count: "tokens", "bytes", "seconds"
  std::string_view value = {};  // what help texts call the value: "N", "FILE"
  bool path = false;            // the value names a file or folder: reports can leave it out
  // The members of the C struct, with commas, and the arguments in Python; empty: there is none,
  std::string_view c = {};
  std::string_view no_c = {};  // the reason why C has none
  // Why ranks other than 0 do not get the value; empty: they do.
  std::string_view no_ranks = {};

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

// "from 0 to 1", "from 1", "up to 5"; empty: no limits. Whole numbers never have an exponent.
std::string limits_text(bool whole, KnobRange range);
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

// A member of any type, described: the tables of structs that not only numbers are in, and whose
// every member is described (Described).
template <class T, class M>
struct Option : KnobText {
  M T::*member;
  KnobRange range = {};  // for numbers
};
template <class T, class M>
constexpr Option<T, M> option(const KnobText& text, M T::*member, KnobRange range = {}) {
  return {text, member, range};
}

// Specialized beside T: static constexpr std::tuple all{option(..), ..}, with kMembers options, and
//   static constexpr std::size_t kMembers = 2;
//   static constexpr std::size_t count(T& t) { auto& [a, b] = t; return kMembers; }
// which does not compile if T has another number of members.
template <class T>
struct Described;

// Calls visit(option, member) for each member of `object`, which may be const.
template <class T, class Visit>
void for_each_option(T& object, Visit visit) {
  using All = Described<std::remove_const_t<T>>;
  static_assert(std::tuple_size_v<decltype(All::all)> == All::kMembers, "describe every member");
  std::apply([&](const auto&... options) { (visit(options, object.*options.member), ...); },
             All::all);
}

// Throws ValueError "context must be a whole number from 0 to 2147483647, got -1" if the number is
// out of the range, or not finite.
void check_number(const KnobText& text, KnobRange range, std::int64_t value);
void check_number(const KnobText& text, KnobRange range, double value);
// The same for the first number of the object.
template <class T>
void check_numbers(const T& object) {
  for_each_option(object, []<class M>(const auto& option, const M& value) {
    using Wide = std::conditional_t<std::integral<M>, std::int64_t, double>;
    if constexpr (std::is_arithmetic_v<M> && !std::same_as<M, bool>)
      check_number(option, option.range, static_cast<Wide>(value));
  });
}
// Throws Error: a defect of the caller.
[[noreturn]] void no_such_option(std::string_view name);

// Calls visit(option) for the option of T with this name. REQUIRES: there is one.
template <class T, class Visit>
void visit_option(std::string_view name, Visit visit) {
  bool found = false;
  const auto compare = [&](const auto& option) {
    if (option.name != name) return;
    found = true;
    visit(option);
  };
  std::apply([&](const auto&... options) { (compare(options), ...); }, Described<T>::all);
  if (!found) no_such_option(name);
}

// Like check_numbers() for a number before it becomes the member of this name.
template <class T, class N>
void check_option(std::string_view name, N value) {
  using Wide = std::conditional_t<std::integral<N>, std::int64_t, double>;
  visit_option<T>(name, [&](const auto& option) {
    check_number(option, option.range, static_cast<Wide>(value));
  });
}

// The description of the member of this name.
template <class T>
const KnobText& described(std::string_view name) {
  const KnobText* found = nullptr;
  visit_option<T>(name, [&](const KnobText& text) { found = &text; });
  return *found;
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
