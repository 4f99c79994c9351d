#pragma once
// The attributes of a node, type-erased. An op's attributes are a plain struct that lists its
// fields once:
//
//   struct RmsNormAttrs {
//     float eps;
//     static constexpr auto fields() { return std::tuple{field("eps", &RmsNormAttrs::eps)}; }
//   };
//
// Visiting, comparison and JSON are derived from this list. Fields are numbers, bools and enums
// with a to_string.

#include <bit>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <variant>

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
using AttrVisitor = std::function<void(std::string_view name, const AttrValue& value)>;

// "true", "-3", "1e-05" (the shortest text that gives the same number back), "inf", "halves".
std::string to_string(const AttrValue& value);

// Immutable, shared, cheap to copy.
class Attrs {
 public:
  Attrs() : Attrs(NoAttrs{}) {}

  template <class T>
  requires requires { T::fields(); }
  Attrs(T value)  // implicit: ops are applied as add(op, inputs, EpsAttrs{1e-5f}, where)
      : data_(std::make_shared<const T>(std::move(value))), type_(&kType<T>) {}

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

  struct Type {
    const std::type_info* id;
    void (*visit)(const void*, const AttrVisitor&);
    bool (*equal)(const void*, const void*);
  };

  template <class V>
  static void visit_value(std::string_view name, const V& v, const AttrVisitor& visit) {
    if constexpr (std::is_enum_v<V>) {
      const auto& text = to_string(v);
      visit(name, std::string_view(text));
    } else if constexpr (std::same_as<V, bool> || std::floating_point<V>) {
      visit(name, v);
    } else {
      visit(name, std::int64_t{v});
    }
  }

  template <class V>
  static bool equal_values(const V& a, const V& b) {
    if constexpr (std::same_as<V, float>)
      return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
    else if constexpr (std::same_as<V, double>)
      return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
    else
      return a == b;
  }

  template <class T>
  static void visit_fields(const void* p, const AttrVisitor& visit) {
    const T& value = *static_cast<const T*>(p);
    std::apply([&](const auto&... f) { (visit_value(f.name, value.*(f.member), visit), ...); },
               T::fields());
  }

  template <class T>
  static bool equal_fields(const void* p, const void* q) {
    const T &a = *static_cast<const T*>(p), &b = *static_cast<const T*>(q);
    return std::apply(
        [&](const auto&... f) { return (equal_values(a.*(f.member), b.*(f.member)) && ...); },
        T::fields());
  }

  template <class T>
  static constexpr Type kType{&typeid(T), &visit_fields<T>, &equal_fields<T>};

  std::shared_ptr<const void> data_;
  const Type* type_;
};

}  // namespace weft
