#pragma once
// The tools that a request offers, and the types of their parameters.

#include <map>
#include <string>
#include <string_view>

namespace weft::reply {

// JSON types as bits. None of them: a schema does not say.
using JsonTypes = unsigned;
inline constexpr JsonTypes kText = 1, kNumber = 2, kBoolean = 4, kNull = 8, kArray = 16,
                           kObject = 32;

struct Tools {
  std::map<std::string, std::map<std::string, JsonTypes, std::less<>>, std::less<>> parameters;

  bool known(std::string_view name) const { return parameters.contains(name); }
  bool any() const { return !parameters.empty(); }
  JsonTypes types_of(std::string_view tool, std::string_view parameter) const;
};

// From a JSON array of definitions; "": none. Throws FormatError.
Tools read_tools(std::string_view json);

// A value that a model wrote as text, as JSON. If the types allow a text, it is one, except null.
// Booleans and null in any case, and Python's literals of lists and dicts, are understood if the
// types ask for them. A text that is none of the types is taken as it is: JSON, or else a text.
std::string typed_value(std::string_view text, JsonTypes types);

}  // namespace weft::reply
