#include "weft/api/query.h"

#include <algorithm>
#include <charconv>

namespace weft::api {
namespace {

std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    const bool escape = text[i] == '%' && i + 2 < text.size() &&
                        std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16).ptr ==
                            text.data() + i + 3;
    out += escape ? static_cast<char>(byte) : text[i] == '+' ? ' ' : text[i];
    if (escape) i += 2;
  }
  return out;
}

}  // namespace

std::vector<std::string> query_values(const http::RequestHead& head, std::string_view name) {
  std::vector<std::string> values;
  std::string_view query = head.query;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    if (decoded(pair.substr(0, equals)) == name)
      values.push_back(equals == pair.npos ? "" : decoded(pair.substr(equals + 1)));
  }
  return values;
}

std::string query_value(const http::RequestHead& head, std::string_view name) {
  const std::vector<std::string> values = query_values(head, name);
  return values.empty() ? "" : values.front();
}

}  // namespace weft::api
