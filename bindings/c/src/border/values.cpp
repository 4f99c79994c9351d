#include "border/values.h"

#include "weft/base/error.h"
#include "weft/base/printable.h"

#include "border/arguments.h"

namespace weft::c_api {
namespace {

NamedValue named_value(const weft_value& v, std::string_view what) {
  const std::string_view name = required_name(v.name, "name");
  if (name.empty()) fail<ValueError>("`{}`: a name is empty", what);
  check_reserved(v.reserved, "weft_value");
  switch (v.kind) {
    case WEFT_VALUE_INTEGER:
      return {name, v.integer};
    case WEFT_VALUE_NUMBER:
      return {name, v.number};
    case WEFT_VALUE_TEXT:
      return {name, required_name(v.text, "text")};
    case WEFT_VALUE_BOOL:
      return {name, v.integer != 0};
    default:
      fail<ValueError>("'{}': the kind must be 1 to 4 (WEFT_VALUE_..), got {}", printable(name),
                       v.kind);
  }
}

}  // namespace

std::vector<NamedValue> named_values(const weft_value* values, std::size_t n,
                                     std::string_view what) {
  std::vector<NamedValue> all;
  for (const weft_value& v : array(values, n, what)) all.push_back(named_value(v, what));
  return all;
}

}  // namespace weft::c_api
