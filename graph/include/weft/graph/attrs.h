#pragma once
// The attributes of a node, type-erased. An op's attributes are a plain struct that lists its
// fields once:
//
//   struct RmsNormAttrs {
//     float eps;
//     static constexpr auto fields() { return std::tuple{field("eps", &RmsNormAttrs::eps)}; }
//   };
//
// Visiting, comparison, JSON and making them from named values are derived from this list. Fields
// are numbers, bools, texts, and enums with a to_string and an all_values.

#include <bit>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <variant>
#include <vector>

namespace weft {

template <class T, class M>
struct AttrField {
  std::string_view name;
  M T::*member;
};
template <class T, class M>
constexpr AttrField<T, M> field(std::string_view name, M T::*member) {
  return {name, member};
}

struct NoAttrs {
  static constexpr auto fields() { return std::tuple{}; }
};

// A field's value: enums come as their names.
using AttrValue = std::variant<bool, std::int64_t, float, double, std::string_view>;
struct NamedAttr {
  std::string_view name;
  AttrValue value;
};
using AttrVisitor = std::function<void(std::string_view name, const AttrValue& value)>;

// "true", "-3", "1e-05" (the shortest text that gives the same number back), "inf", "halves".
std::string to_string(const AttrValue& value);

class Attrs;

// A type of attributes, for code that knows ops by their names.
struct AttrsType {
  const std::type_info* id;
  void (*visit)(const void*, const AttrVisitor&);
  bool (*equal)(const void*, const void*);
  // Fields that are not given keep their defaults. Throws ValueError for names that the type does
  // not have, names that are given twice, and values that the field cannot hold exactly: "eps must
  // be a number, got 'small'". A whole number is a number, too, and 0 and 1 are bools.
  Attrs (*make)(std::span<const NamedAttr> values);
};
template <class T>
struct AttrsTypeOf {
  static const AttrsType value;
};
// kAttrsType<T> is the one of T.
template <class T>
inline constexpr const AttrsType& kAttrsType = AttrsTypeOf<T>::value;

// Immutable, shared, cheap to copy.
class Attrs {
 public:
  Attrs() : Attrs(NoAttrs{}) {}

  template <class T>
  requires requires { T::fields(); }
  Attrs(T value)  // implicit: ops are applied as add(op, inputs, EpsAttrs{1e-5f}, where)
      : data_(std::make_shared<const T>(std::move(value))), type_(&kAttrsType<T>) {}

  // REQUIRES: T is the type it was made from. Builds without NDEBUG throw ValueError if it is not.
  template <class T>
  const T& as() const {
#ifndef NDEBUG
    if (!holds(typeid(T))) refuse(typeid(T));
#endif
    return *static_cast<const T*>(data_.get());
  }
  bool holds(const std::type_info& t) const {
    return *type_->id == t;
  }
  const AttrsType& type() const {
    return *type_;
  }

  // The fields in the order of the list. Texts live as long as the call of `visit`.
  void for_each(const AttrVisitor& visit) const {
    type_->visit(data_.get(), visit);
  }

  std::string to_json() const;  // {"eps":1e-05}

  // The same type and, bit by bit, the same values.
  friend bool operator==(const Attrs& a, const Attrs& b) {
    return *a.type_->id == *b.type_->id && a.type_->equal(a.data_.get(), b.data_.get());
  }

 private:
  [[noreturn]] void refuse(const std::type_info& wanted) const;

  std::shared_ptr<const void> data_;
  const AttrsType* type_;
};

namespace attrs {

// How values become those of fields. Each throws the ValueError of AttrsType::make.
bool as_bool(const NamedAttr& given);
std::int64_t as_integer(const NamedAttr& given, std::int64_t min, std::int64_t max);
double as_number(const NamedAttr& given);
std::string_view as_text(const NamedAttr& given);
[[noreturn]] void refuse_choice(const NamedAttr& given, std::span<const std::string> known);
[[noreturn]] void refuse_name(std::string_view name, std::span<const std::string_view> known);
void refuse_twice(std::span<const NamedAttr> values);

template <class V>
void visit_value(std::string_view name, const V& v, const AttrVisitor& visit) {
  if constexpr (std::is_enum_v<V>) {
    const auto& text = to_string(v);
    visit(name, std::string_view(text));
  } else if constexpr (std::same_as<V, std::string>) {
    visit(name, std::string_view(v));
  } else if constexpr (std::same_as<V, bool> || std::floating_point<V>) {
    visit(name, v);
  } else {
    visit(name, std::int64_t{v});
  }
}

template <class V>
bool equal_values(const V& a, const V& b) {
  if constexpr (std::same_as<V, float>)
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
  else if constexpr (std::same_as<V, double>)
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  else
    return a == b;
}

template <class V>
void set_value(const NamedAttr& given, V& v) {
  if constexpr (std::is_enum_v<V>) {
    std::vector<std::string> known;
    for (const V choice : all_values(V{})) {
      if (to_string(choice) == as_text(given)) {
        v = choice;
        return;
      }
      known.emplace_back(to_string(choice));
    }
    refuse_choice(given, known);
  } else if constexpr (std::same_as<V, std::string>) {
    v = as_text(given);
  } else if constexpr (std::same_as<V, bool>) {
    v = as_bool(given);
  } else if constexpr (std::floating_point<V>) {
    v = static_cast<V>(as_number(given));
  } else {
    v = static_cast<V>(
        as_integer(given, std::numeric_limits<V>::min(), std::numeric_limits<V>::max()));
  }
}

template <class T>
void visit_fields(const void* p, const AttrVisitor& visit) {
  const T& value = *static_cast<const T*>(p);
  std::apply([&](const auto&... f) { (visit_value(f.name, value.*(f.member), visit), ...); },
             T::fields());
}

template <class T>
bool equal_fields(const void* p, const void* q) {
  const T &a = *static_cast<const T*>(p), &b = *static_cast<const T*>(q);
  return std::apply(
      [&](const auto&... f) { return (equal_values(a.*(f.member), b.*(f.member)) && ...); },
      T::fields());
}

template <class T>
Attrs make_fields(std::span<const NamedAttr> values) {
  T made{};
  refuse_twice(values);
  for (const NamedAttr& given : values) {
    const bool known = std::apply(
        [&](const auto&... f) {
          return ((f.name == given.name && (set_value(given, made.*(f.member)), true)) || ...);
        },
        T::fields());
    if (known) continue;
    std::vector<std::string_view> names;
    std::apply([&](const auto&... f) { (names.push_back(f.name), ...); }, T::fields());
    refuse_name(given.name, names);
  }
  return made;
}

}  // namespace attrs

template <class T>
constinit const AttrsType AttrsTypeOf<T>::value{&typeid(T), &attrs::visit_fields<T>,
                                                &attrs::equal_fields<T>, &attrs::make_fields<T>};

}  // namespace weft
