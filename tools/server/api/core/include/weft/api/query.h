#pragma once
// The query of a request's address: "action=save&model=x".

#include <string>
#include <string_view>
#include <vector>

#include "weft/http/exchange.h"

namespace weft::api {

// The value of the first parameter of that name, decoded: "a%20b+c" -> "a b c", and invalid escapes
// stay as they are. Empty if there is none.
std::string query_value(const http::RequestHead& head, std::string_view name);
// The values of all parameters of that name, which is decoded, too: "a%5B%5D" is "a[]".
std::vector<std::string> query_values(const http::RequestHead& head, std::string_view name);

}  // namespace weft::api
