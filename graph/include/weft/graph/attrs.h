#pragma once
// The attributes of a node, type-erased. An op's attributes are a plain struct that lists its
// fields once:
//
//   struct RmsNormAttrs {
//     float eps;
//     static constexpr auto fields() { return std::tuple{field("eps", &RmsNormAttrs::eps)}; }
//   };
//
// JSON, comparison and (through the plan's JSON) hashing are derived from this list. Fields are
// numbers, bools and enums with a to_string.

#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include <fmt/format.h>

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

// Immutable, shared, cheap to copy.
class Attrs {
 public:
  Attrs() : Attrs(NoAttrs{}) {}

  template <class T>
  requires requires { T::fields(); }
  Attrs(T value)  // implicit: ops are applied as add(op, inputs, EpsAttrs{1e-5f}, where)
      : data_(std::make_shared<const T>(std::move(value))), type_(&kType<T>) {}

  // REQUIRES: T is the type it was made from.
  template <class T>
  const T& as() const {
    return *static_cast<const T*>(data_.get());
  }
  bool holds(const std::type_info& t) const { return *type_->id == t; }

  std::string to_json() const { return type_->print(data_.get()); }  // {"eps":1e-05}
  friend bool operator==(const Attrs& a, const Attrs& b) {
    return *a.type_->id == *b.type_->id && a.to_json() == b.to_json();
  }

 private:
  struct Type {
    const std::type_info* id;
    std::string (*print)(const void*);
  };

  template <class V>
  static std::string print_value(const V& v) {
    if constexpr (std::is_same_v<V, bool>)
      return v ? "true" : "false";
    else if constexpr (std::is_enum_v<V>)
      return fmt::format("\"{}\"", to_string(v));
    else if constexpr (std::is_floating_point_v<V>)
      return std::isfinite(v) ? fmt::format("{}", v) : fmt::format("\"{}\"", v);  // JSON has no inf
    else
      return fmt::format("{}", v);
  }

  template <class T>
  static std::string print_fields(const void* p) {
    const T& value = *static_cast<const T*>(p);
    std::string out = "{";
    std::apply(
        [&](const auto&... f) {
          ((out += fmt::format("{}\"{}\":{}", out.size() > 1 ? "," : "", f.name,
                               print_value(value.*(f.member)))),
           ...);
        },
        T::fields());
    return out + "}";
  }

  template <class T>
  static constexpr Type kType{&typeid(T), &print_fields<T>};

  std::shared_ptr<const void> data_;
  const Type* type_;
};

}  // namespace weft
