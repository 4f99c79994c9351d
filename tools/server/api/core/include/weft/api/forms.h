#pragma once
// The forms that values of requests have (fields.h): numbers in ranges, texts, lists, objects,
// choices, and combinations of them.

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/api/fields.h"

namespace weft::api {

inline constexpr std::int64_t kMaxWhole = std::int64_t{1} << 53;

Form<bool> boolean();
// 1.0 is a whole number. Values beyond 2^63 are refused.
Form<std::int64_t> whole(std::int64_t min = std::numeric_limits<std::int64_t>::min(),
                         std::int64_t max = std::numeric_limits<std::int64_t>::max());
// By default, the range of a float.
Form<double> number(double min = std::numeric_limits<float>::lowest(),
                    double max = std::numeric_limits<float>::max());
Form<std::string> text();
Form<std::string> nonempty_text();
// One of some texts.
Form<std::string> word(const std::vector<std::string>& words);
// Any value of these types, as compact JSON text. `expected`: "an object".
Form<std::string> json_text(JsonTypes types, std::string expected, std::string schema = "{}");
// Any object, as compact JSON text.
Form<std::string> object_text();
// The value itself, which lives as long as the body.
Form<const Json*> raw(JsonTypes types, std::string expected, std::string schema = "{}");

// A text with its meaning.
template <class E>
Form<E> choice(std::initializer_list<std::pair<std::string_view, E>> values);

template <class T>
Form<std::vector<T>> list(Form<T> item, std::size_t min = 0,
                          std::size_t max = std::numeric_limits<std::size_t>::max());
// A T, or a list of T.
template <class T>
Form<std::vector<T>> one_or_list(Form<T> item);
// An object with any names.
template <class T>
Form<std::vector<std::pair<std::string, T>>> map_of(Form<T> value);
// An object with the fields of a table, which must outlive the form.
template <class T>
Form<T> object(const Fields<T>& table);

// `form` with its result passed through f: T f(V).
template <class T, class V, class F>
Form<T> convert(Form<V> form, F f);
// Forms that accept different JSON types.
template <class T>
Form<T> either(Form<T> a, Form<T> b);

namespace forms {
std::size_t size(const Json& array_or_object);
const Json& item(const Json& array, std::size_t index);
const std::string& string(const Json& json);
void each_member(const Json& object,
                 const std::function<void(const std::string&, const Json&)>& use);
void check_size(std::size_t n, std::size_t min, std::size_t max, const Path& path);
std::string list_schema(std::string_view item, std::size_t min, std::size_t max);
std::string enum_schema(const std::vector<std::string>& words);
std::string words_text(const std::vector<std::string>& words);  // one of "a", "b"
std::string map_schema(std::string_view value);
std::string either_schema(std::string_view a, std::string_view b);
}  // namespace forms

template <class E>
Form<E> choice(std::initializer_list<std::pair<std::string_view, E>> values) {
  std::vector<std::string> words;
  std::vector<E> meanings;
  for (const auto& [word, meaning] : values) words.emplace_back(word), meanings.push_back(meaning);
  std::string expected = forms::words_text(words);
  std::string schema = forms::enum_schema(words);
  return {expected, std::move(schema), kString,
          [words = std::move(words), meanings = std::move(meanings), expected](
              const Json& json, const Path& path) -> E {
            for (std::size_t i = 0; i < words.size(); ++i)
              if (words[i] == forms::string(json)) return meanings[i];
            refuse(path, expected, json);
          }};
}

template <class T>
Form<std::vector<T>> list(Form<T> item, std::size_t min, std::size_t max) {
  return {"a list", forms::list_schema(item.schema, min, max), kArray,
          [item = std::move(item), min, max](const Json& json, const Path& path) {
            const std::size_t n = forms::size(json);
            forms::check_size(n, min, max, path);
            std::vector<T> items;
            items.reserve(n);
            for (std::size_t i = 0; i < n; ++i)
              items.push_back(read(item, forms::item(json, i), path.item(i)));
            return items;
          }};
}

template <class T>
Form<std::vector<T>> one_or_list(Form<T> item) {
  Form<std::vector<T>> one{item.expected, item.schema, item.types,
                           [item](const Json& json, const Path& path) {
                             std::vector<T> items;
                             items.push_back(item.read(json, path));
                             return items;
                           }};
  return either(std::move(one), list(std::move(item)));
}

template <class T>
Form<std::vector<std::pair<std::string, T>>> map_of(Form<T> value) {
  using Map = std::vector<std::pair<std::string, T>>;
  return {"an object", forms::map_schema(value.schema), kObject,
          [value = std::move(value)](const Json& json, const Path& path) {
            Map map;
            forms::each_member(json, [&](const std::string& name, const Json& item) {
              map.emplace_back(name, read(value, item, path.member(name)));
            });
            return map;
          }};
}

template <class T>
Form<T> object(const Fields<T>& table) {
  return {"an object", table.schema(), kObject,
          [&table](const Json& json, const Path& path) { return table.read(json, T{}, path); }};
}

template <class T, class V, class F>
Form<T> convert(Form<V> form, F f) {
  return {form.expected, form.schema, form.types,
          [read = std::move(form.read), f](const Json& json, const Path& path) -> T {
            return f(read(json, path));
          }};
}

template <class T>
Form<T> either(Form<T> a, Form<T> b) {
  return {a.expected + " or " + b.expected, forms::either_schema(a.schema, b.schema),
          a.types | b.types, [a, b](const Json& json, const Path& path) {
            return (type_of(json) & a.types) != 0 ? a.read(json, path) : b.read(json, path);
          }};
}

}  // namespace weft::api
