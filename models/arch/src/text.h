#pragma once
// Names from files in messages.

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// At most 64 bytes of a name, with '?' for what is not printable ASCII.
inline std::string short_name(std::string_view name) {
  std::string text(name.substr(0, 64));
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  if (name.size() > text.size()) text += "...";
  return text;
}

// Levenshtein distance.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
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
  return row.back();
}

}  // namespace weft
