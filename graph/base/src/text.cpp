#include "weft/base/text.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace weft {

std::string_view trim_right(std::string_view text) {
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view trim(std::string_view text) {
  text = trim_right(text);
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  return text;
}

std::string_view without_line_end(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

std::string with_line_feeds(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') result += text[i];
  return result;
}

std::string to_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = to_lower(c);
  return lower;
}

std::string to_upper(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) c = to_upper(c);
  return upper;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return to_lower(x) == to_lower(y); });
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  return prefix_distances(a, b).back();
}

std::vector<std::size_t> prefix_distances(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t change = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({change, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row;
}

std::string nearest_known(std::string_view unknown, std::span<const std::string_view> known) {
  std::size_t best = near_distance(unknown);
  std::string names;
  for (const std::string_view name : known) {
    const std::size_t distance = edit_distance(name, unknown);
    if (distance < best) names.clear();
    if (distance > best) continue;
    best = distance;
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return names.empty() ? "" : "; nearest known: " + names;
}

std::string_view without_source_line(std::string_view message) {
  const std::size_t begin = message.rfind(" (");
  if (begin == message.npos || !message.ends_with(')')) return message;
  const std::string_view place = message.substr(begin + 2, message.size() - begin - 3);
  const std::size_t colon = place.rfind(':');
  if (colon == place.npos || colon + 1 == place.size()) return message;
  const std::string_view file = place.substr(0, colon), line = place.substr(colon + 1);
  const bool source = file.ends_with(".cpp") || file.ends_with(".h");
  return source && std::ranges::all_of(line, is_digit) ? message.substr(0, begin) : message;
}

std::string_view without_json_id(std::string_view message) {
  const std::size_t end = message.find("] ");
  return message.starts_with("[json.") && end != message.npos ? message.substr(end + 2) : message;
}

}  // namespace weft
