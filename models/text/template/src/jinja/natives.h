#pragma once
// What several tables of natives share.

#include "jinja/renderer.h"

namespace weft::jinja {

// "a.b.0" of filters such as map: what it leads to from `v`. The attribute may be a number.
// `otherwise`, if given, replaces a missing attribute.
Value follow(Renderer& r, const Value& v, const Value& path, const Value* otherwise = nullptr);
// Text of Python's `%` operator and of str.format.
Value format_percent(Renderer& r, const Str& format, const Value& args);
Value format_braces(Renderer& r, const Value& self, Args& args);
// Text with characters changed one by one.
enum class Case { upper, lower, title, capitalize, swap, fold };
Value change_case(Renderer& r, const Str& s, Case how);
// str.strip and its kin; without `chars` white space.
Value strip(Renderer& r, const Str& s, const Value* chars, bool left, bool right);
// s with every `from` replaced, at most `count` times unless `count` is negative.
Value replace(Renderer& r, const Str& s, const Str& from, const Str& to, std::int64_t count);
Value escape_html(Renderer& r, const Value& v);
double real(Renderer& r, const Value& v);
std::int64_t truncated(Renderer& r, double d);  // int(d)
// The lines of a text, as str.splitlines has them.
std::vector<TextRange> split_lines(const Str& s, bool keep_ends);
// A length in characters as spaces, for padding.
std::string spaces(Renderer& r, std::int64_t n);
std::size_t byte_of(Renderer& r, const Str& s, std::size_t character);
// The position of `part` in `text` from byte `from` on; npos if there is none. Takes time linear in
// the text whatever the two are, unlike the standard library's search.
std::size_t find_text(std::string_view text, std::string_view part, std::size_t from = 0);
std::size_t rfind_text(std::string_view text, std::string_view part);

}  // namespace weft::jinja
