#pragma once
// JSON texts of answers, appended member by member:
//
//   JsonObject().add("type", "text").add("index", 3).str()  // {"type":"text","index":3}

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::api {

namespace json_out {
void append(std::string& out, bool value);
void append(std::string& out, std::int64_t value);
void append(std::string& out, std::uint64_t value);
// The shortest text that reads as the same number; null unless it is finite.
void append(std::string& out, double value);
void append(std::string& out, float value);
void append(std::string& out, std::string_view value);  // a string

template <class T>
void append_any(std::string& out, const T& value) {
  if constexpr (std::same_as<T, bool> || std::floating_point<T>)
    append(out, value);
  else if constexpr (std::signed_integral<T>)
    append(out, static_cast<std::int64_t>(value));
  else if constexpr (std::unsigned_integral<T>)
    append(out, static_cast<std::uint64_t>(value));
  else
    append(out, std::string_view(value));
}
}  // namespace json_out

// Members come in the order in which they are added. Names must be plain ASCII.
class JsonObject {
 public:
  template <class T>
  JsonObject& add(std::string_view name, const T& value) {
    open(name);
    json_out::append_any(text_, value);
    return *this;
  }
  // `json`: the text of a value.
  JsonObject& add_json(std::string_view name, std::string_view json);
  // Null if the text is empty.
  JsonObject& add_or_null(std::string_view name, std::string_view text);
  JsonObject& add_null(std::string_view name) { return add_json(name, "null"); }
  std::string str() const { return text_ + '}'; }

 private:
  void open(std::string_view name);
  std::string text_ = "{";
};

class JsonArray {
 public:
  template <class T>
  JsonArray& add(const T& value) {
    separate();
    json_out::append_any(text_, value);
    return *this;
  }
  JsonArray& add_json(std::string_view json);
  bool empty() const { return text_.size() == 1; }
  std::string str() const { return text_ + ']'; }

 private:
  void separate() {
    if (!empty()) text_ += ',';
  }
  std::string text_ = "[";
};

template <class Items>
std::string array_of(const Items& items) {
  JsonArray array;
  for (const auto& item : items) array.add(item);
  return array.str();
}

}  // namespace weft::api
