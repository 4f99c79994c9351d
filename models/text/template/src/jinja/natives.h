#pragma once
// What templates can call that is written in C++: filters, tests, functions and methods. Each is a
// row of a table. Also the helpers that several of the tables share.

#include <span>

#include "jinja/operators.h"
#include "jinja/runtime.h"

namespace weft::jinja {

// The arguments of one call. A native function takes those that it knows; others are an error.
struct Args {
  std::vector<Value> list;
  std::vector<std::pair<std::string_view, Value>> named;
  std::size_t taken = 0;  // arguments of the list that were used
  std::size_t named_taken = 0;

  // The argument at this position or with this name; null if it was not given.
  const Value* get(std::size_t place, std::string_view name);
  std::span<const Value> rest(std::size_t from);
  bool all_taken() const { return taken >= list.size() && named_taken >= named.size(); }
};

struct NativeRow {
  std::string_view name;
  Native run;
  NativeCost cost = {};
};
inline constexpr NativeCost kReadsArguments{NativeCost::Reads::arguments};
inline constexpr NativeCost kReadsNothing{NativeCost::Reads::nothing};
std::span<const NativeRow> filter_rows();
std::span<const NativeRow> number_filter_rows();
std::span<const NativeRow> sequence_filter_rows();
std::span<const NativeRow> test_rows();
std::span<const NativeRow> function_rows();
std::span<const NativeRow> string_methods();
std::span<const NativeRow> string_search_methods();
// The methods of a value: lists, dicts and others.
std::span<const NativeRow> methods_of(const Value& v);
const NativeRow* find_row(std::span<const NativeRow> rows, std::string_view name);
const NativeRow* find_filter(std::string_view name);

// Calls a native function, and charges what it may read. Fails if it does not take all of the
// arguments.
Value run_native(Runtime& r, const NativeRow& row, const Value& self, Args& args);
// The filter or test with this name. Fail if there is none.
Value apply_filter(Runtime& r, std::string_view name, const Value& self, Args& args);
bool apply_test(Runtime& r, std::string_view name, const Value& self, Args& args);

// Python's `%` operator and str.format.
Value format_percent(Runtime& r, const Str& format, const Value& args);
Value format_braces(Runtime& r, const Value& self, Args& args);
// Changes the case of characters.
enum class Case { upper, lower, title, capitalize, swap, fold };
Value change_case(Runtime& r, const Str& s, Case how);
// str.strip, lstrip and rstrip; without `chars`, white space.
Value strip(Runtime& r, const Str& s, const Value* chars, bool left, bool right);
// s with every `from` replaced, at most `count` times unless `count` is negative.
Value replace(Runtime& r, const Str& s, const Str& from, const Str& to, std::int64_t count);
Value escape_html(Runtime& r, const Value& v);
std::int64_t truncated(Runtime& r, double d);  // int(d)
// The lines of a text, as in str.splitlines.
std::vector<TextRange> split_lines(Runtime& r, const Str& s, bool keep_ends);
// `n` spaces, for padding.
std::string spaces(Runtime& r, std::int64_t n);
// The position of a character in the text: its first byte.
std::size_t byte_of(Runtime& r, const Str& s, std::size_t character);
// The position of `part` in `text` from byte `from` on; npos if there is none. Takes time linear in
// the text whatever the two are, unlike the standard library's search.
std::size_t find_text(std::string_view text, std::string_view part, std::size_t from = 0);
std::size_t rfind_text(std::string_view text, std::string_view part);

}  // namespace weft::jinja
