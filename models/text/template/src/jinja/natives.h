#pragma once
// Helpers that several tables of native functions share.

#include "jinja/renderer.h"

namespace weft::jinja {

// Resolves "a.b.0" of filters such as map, starting at `v`. The attribute may be a number.
// `otherwise`, if given, replaces a missing attribute.
Value follow(Renderer& r, const Value& v, const Value& path, const Value* otherwise = nullptr);
// Python's `%` operator and str.format.
Value format_percent(Renderer& r, const Str& format, const Value& args);
Value format_braces(Renderer& r, const Value& self, Args& args);
// Changes the case of characters.
enum class Case { upper, lower, title, capitalize, swap, fold };
Value change_case(Renderer& r, const Str& s, Case how);
// str.strip, lstrip and rstrip; without `chars`, white space.
Value strip(Renderer& r, const Str& s, const Value* chars, bool left, bool right);
// s with every `from` replaced, at most `count` times unless `count` is negative.
Value replace(Renderer& r, const Str& s, const Str& from, const Str& to, std::int64_t count);
Value escape_html(Renderer& r, const Value& v);
double real(Renderer& r, const Value& v);
std::int64_t truncated(Renderer& r, double d);  // int(d)
// The lines of a text, as in str.splitlines.
std::vector<TextRange> split_lines(const Str& s, bool keep_ends);
// `n` spaces, for padding.
std::string spaces(Renderer& r, std::int64_t n);
std::size_t byte_of(Renderer& r, const Str& s, std::size_t character);
// The position of `part` in `text` from byte `from` on; npos if there is none. Takes time linear in
// the text whatever the two are, unlike the standard library's search.
std::size_t find_text(std::string_view text, std::string_view part, std::size_t from = 0);
std::size_t rfind_text(std::string_view text, std::string_view part);

}  // namespace weft::jinja
