#pragma once
// Small helpers for ASCII text: names in messages, options, paths. Bytes outside ASCII pass through
// unchanged and compare by value.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
// Space, tab, newline, carriage return.
constexpr bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
std::string_view trim_right(std::string_view text);
std::string_view trim(std::string_view text);
// Without the LF or CR LF at its end, or the CR of a line whose LF was already taken off.
std::string_view without_line_end(std::string_view text);
// With LF for every CR LF.
std::string with_line_feeds(std::string_view text);

constexpr char to_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
constexpr char to_upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}
std::string to_lower(std::string_view text);
std::string to_upper(std::string_view text);
bool equals_ignoring_case(std::string_view a, std::string_view b);

// Levenshtein distance in bytes.
std::size_t edit_distance(std::string_view a, std::string_view b);
// The distance from `a` to every prefix of `b`: b.size() + 1 numbers, the last one to all of `b`.
std::vector<std::size_t> prefix_distances(std::string_view a, std::string_view b);
// The largest distance at which a known name may be suggested for an unknown one: a quarter of its
// bytes, but one at least.
constexpr std::size_t near_distance(std::string_view unknown) {
  return unknown.size() < 8 ? 1 : unknown.size() / 4;
}

// The end of a message about an unknown name: "; nearest known: qwen2, qwen3", or nothing if none
// is near.
std::string nearest_known(std::string_view unknown, std::span<const std::string_view> known);

// The message of an Error without the line of source code at its end, if it names one:
// " (models/arch/src/pages/llama.cpp:41)".
std::string_view without_source_line(std::string_view message);
// A message of nlohmann::json without the "[json.exception.parse_error.101] " that it begins with.
std::string_view without_json_id(std::string_view message);

}  // namespace weft
