#pragma once
// Requests as tables. A table lists the fields of a JSON object; each says its name, its form
// (forms.h), a sentence of documentation, and where its value goes. One table both reads the
// requests and makes their schema in /openapi.json.
//
//   struct Request { std::string model; std::int64_t max_tokens = 16; };
//   const Fields<Request>& fields() {
//     static const auto table = Fields<Request>()
//         .required("model", &Request::model, text(), "Name of the model.")
//         .add("max_tokens", &Request::max_tokens, whole(1), "Number of tokens.");
//     return table;
//   }
//   Request request = fields().read(body);
//
// Rules: null is the same as absent, unknown members are ignored, the initial value of a target is
// the documented default, and aliases of a field must not contradict it. Errors are ApiErrors 400
// that name the path, the expected and the actual value: "stop[0]: expected a text, got 5". Tables
// are immutable after construction.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/api/json.h"

namespace weft::api {

// The place of a value in a body. A path refers to the one that it was made from, which must
// outlive it unless it is Path(), the whole body.
class Path {
 public:
  Path() = default;
  Path member(std::string_view name) const { return {parent(), name, 0}; }
  Path item(std::size_t index) const { return {parent(), {}, index}; }
  std::string text() const;  // "messages[1].content"; "" for the whole body

 private:
  Path(const Path* parent, std::string_view name, std::size_t index)
      : parent_(parent), name_(name), index_(index), is_body_(false) {}
  const Path* parent() const { return is_body_ ? nullptr : this; }
  const Path* parent_ = nullptr;
  std::string_view name_;
  std::size_t index_ = 0;
  bool is_body_ = true;
};

// Throws ApiError 400 "PATH: expected EXPECTED, got VALUE", with long values abbreviated.
[[noreturn]] void refuse(const Path& path, std::string_view expected, const Json& got);
// Throws ApiError 400 "PATH: PROBLEM".
[[noreturn]] void refuse(const Path& path, std::string_view problem);

// JSON types, as a set of bits.
using JsonTypes = unsigned;
inline constexpr JsonTypes kBoolean = 1, kNumber = 2, kString = 4, kArray = 8, kObject = 16,
                           kAnyType = 31;
JsonTypes type_of(const Json& json);  // 0 for null

// How a value is written.
template <class T>
struct Form {
  std::string expected;  // in messages: "a whole number from 1"
  std::string schema;    // JSON Schema (2020-12) as text
  JsonTypes types = 0;   // accepted types; read() is called only for these
  std::function<T(const Json&, const Path&)> read;
};

template <class T>
T read(const Form<T>& form, const Json& json, const Path& path) {
  if ((type_of(json) & form.types) == 0) refuse(path, form.expected, json);
  return form.read(json, path);
}

// A table for any type of target.
class FieldList {
 public:
  struct Field {
    std::string name, doc, schema;
    std::string default_value;  // JSON text; empty: none
    bool required = false;
    std::function<void(const Json&, const Path&, void* target)> read;
    std::string alias_of = {};  // the field that this is another name of; empty: none
  };

  // Reads an object into its target, which keeps the values of absent fields.
  void read_into(const Json& object, const Path& path, void* target) const;
  // JSON Schema of the object.
  std::string schema() const;
  const std::vector<Field>& fields() const { return fields_; }
  // Reads an object and drops it: throws if it is not accepted.
  virtual void check(const Json& object) const = 0;

 protected:
  FieldList() = default;
  ~FieldList() = default;
  FieldList(const FieldList&) = default;
  FieldList(FieldList&&) = default;
  void insert(Field field);
  void insert_aliases(const std::vector<std::string_view>& names, std::string_view of);

 private:
  // Throws if a field and its aliases have different values.
  void check_aliases(const std::vector<const Json*>& given, const Path& path) const;
  std::vector<Field> fields_;
  std::map<std::string, std::size_t, std::less<>> index_;
};

namespace fields {
// JSON text of a default value; empty if there is none to document.
std::string default_text(bool value);
std::string default_text(double value);
std::string default_text(std::int64_t value);
std::string default_text(const std::string& value);
template <class M>
std::string default_of(const M& member) {
  if constexpr (std::is_same_v<M, bool> || std::is_same_v<M, std::string>)
    return default_text(member);
  else if constexpr (std::is_floating_point_v<M>)
    return default_text(static_cast<double>(member));
  else if constexpr (std::is_integral_v<M>)
    return default_text(static_cast<std::int64_t>(member));
  else
    return {};
}

template <class M, class V>
void assign(M& member, V&& value) {
  if constexpr (std::is_arithmetic_v<M> && std::is_arithmetic_v<std::remove_reference_t<V>>)
    member = static_cast<M>(value);
  else
    member = std::forward<V>(value);
}
template <class M, class V>
void assign(std::optional<M>& member, V&& value) {
  if constexpr (std::is_arithmetic_v<M> && std::is_arithmetic_v<std::remove_reference_t<V>>)
    member = static_cast<M>(value);
  else
    member = std::forward<V>(value);
}
}  // namespace fields

template <class T>
class Fields final : public FieldList {
 public:
  // `member` can be assigned from V, or is an optional of a type that can.
  template <class C, class M, class V>
  Fields& add(std::string name, M C::*member, Form<V> form, std::string doc) & {
    Field field{
        std::move(name), std::move(doc), form.schema, fields::default_of(T{}.*member), false, {}};
    field.read = [member, form = std::move(form)](const Json& json, const Path& path, void* t) {
      fields::assign(static_cast<T*>(t)->*member, api::read(form, json, path));
    };
    insert(std::move(field));
    return *this;
  }
  template <class C, class M, class V>
  Fields&& add(std::string name, M C::*member, Form<V> form, std::string doc) && {
    return std::move(add(std::move(name), member, std::move(form), std::move(doc)));
  }

  // Other names of the field `of`, which do the same; `of` itself is skipped. A request may use
  // several if their values are equal. REQUIRES: the table has the field.
  Fields& aliases(const std::vector<std::string_view>& names, std::string_view of) & {
    insert_aliases(names, of);
    return *this;
  }
  Fields&& aliases(const std::vector<std::string_view>& names, std::string_view of) && {
    return std::move(aliases(names, of));
  }

  // An absent member is an error: "PATH: is required: EXPECTED".
  template <class C, class M, class V>
  Fields&& required(std::string name, M C::*member, Form<V> form, std::string doc) && {
    Field field{std::move(name), std::move(doc), form.schema, {}, true, {}};
    field.read = [member, form = std::move(form)](const Json& json, const Path& path, void* t) {
      fields::assign(static_cast<T*>(t)->*member, api::read(form, json, path));
    };
    insert(std::move(field));
    return std::move(*this);
  }

  // A field whose value is applied by a function: void(T&, V).
  template <class V, class Apply>
  Fields&& apply(std::string name, Form<V> form, Apply use, std::string doc) && {
    Field field{std::move(name), std::move(doc), form.schema, {}, false, {}};
    field.read = [use, form = std::move(form)](const Json& json, const Path& path, void* t) {
      use(*static_cast<T*>(t), api::read(form, json, path));
    };
    insert(std::move(field));
    return std::move(*this);
  }

  // A field that is only checked: its value is read elsewhere, or has no effect.
  template <class V>
  Fields&& accepted(std::string name, Form<V> form, std::string doc) && {
    return std::move(*this).apply(
        std::move(name), std::move(form), [](T&, const V&) {}, std::move(doc));
  }

  // A field that clients may send for a feature that Weft does not have: only `allowed` values
  // (JSON texts) are accepted, others are refused with `problem`, a message and not a sentence.
  Fields&& refused(std::string name, std::vector<std::string> allowed, std::string problem) && {
    insert(refused_field(std::move(name), std::move(allowed), std::move(problem)));
    return std::move(*this);
  }

  // All fields of another table, for a base class or a member of T.
  template <class U>
  Fields&& include(const Fields<U>& others) && {
    static_assert(std::is_base_of_v<U, T>);
    for (Field field : others.fields()) {
      field.read = [read = field.read](const Json& json, const Path& path, void* t) {
        read(json, path, static_cast<U*>(static_cast<T*>(t)));
      };
      insert(std::move(field));
    }
    return std::move(*this);
  }
  template <class U>
  Fields&& include(const Fields<U>& others, U T::*member) && {
    for (Field field : others.fields()) {
      field.read = [member, read = field.read](const Json& json, const Path& path, void* t) {
        read(json, path, &(static_cast<T*>(t)->*member));
      };
      insert(std::move(field));
    }
    return std::move(*this);
  }

  // `initial` holds the defaults.
  T read(const Json& object, T initial = {}, const Path& path = {}) const {
    read_into(object, path, &initial);
    return initial;
  }
  void check(const Json& object) const override { read(object); }

 private:
  static Field refused_field(std::string name, std::vector<std::string> allowed,
                             std::string problem);
};

namespace fields {
FieldList::Field refused(std::string name, std::vector<std::string> allowed, std::string problem);
}
template <class T>
FieldList::Field Fields<T>::refused_field(std::string name, std::vector<std::string> allowed,
                                          std::string problem) {
  return fields::refused(std::move(name), std::move(allowed), std::move(problem));
}

}  // namespace weft::api
