#pragma once
// Small helpers for ASCII text: names in messages, options, paths. Bytes outside ASCII pass through
// unchanged and compare by value.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// Space, tab, newline, carriage return.
bool is_space(char c);
std::string_view trim_right(std::string_view text);
std::string_view trim(std::string_view text);

char to_lower(char c);
std::string to_lower(std::string_view text);
bool equals_ignoring_case(std::string_view a, std::string_view b);

// Levenshtein distance in bytes.
std::size_t edit_distance(std::string_view a, std::string_view b);
// The distance from `a` to every prefix of `b`: b.size() + 1 numbers, the last one to all of `b`.
std::vector<std::size_t> prefix_distances(std::string_view a, std::string_view b);

}  // namespace weft
