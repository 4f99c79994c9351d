#pragma once
// Named values: keys of files and attributes of ops.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "weft/weft.h"

namespace weft::c_api {

struct NamedValue {
  std::string_view name;
  std::variant<std::int64_t, double, bool, std::string_view> value;
};

// Names and texts live as long as those of the caller. `what` names the argument. Throws ValueError
// for names that are NULL or empty, texts that are NULL, unknown kinds, and reserved members that
// are set; FormatError for what is not UTF-8.
std::vector<NamedValue> named_values(const weft_value* values, std::size_t n,
                                     std::string_view what);

}  // namespace weft::c_api
