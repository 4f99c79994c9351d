#pragma once
// Tests of the descriptions of options (weft/base/knob.h), and their tables in docs/options.md.

#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "weft/base/knob.h"

namespace weft::test {

// A sentence, and for every face a name or the reason why there is none.
inline void check_text(const KnobText& text) {
  CAPTURE(text.name);
  CHECK(std::isupper(static_cast<unsigned char>(text.doc.at(0))) != 0);
  CHECK(text.doc.ends_with('.'));
  CHECK(text.flags.empty() != text.no_flag.empty());
  CHECK(text.c.empty() != text.no_c.empty());
  CHECK_FALSE(text.group.empty());
}

// Every member of T is described once, and its default is in its range.
template <class T>
void check_described() {
  T object;
  std::set<const void*> members;
  std::set<std::string_view> names;
  for_each_option(object, [&](const KnobText& text, const auto& value) {
    check_text(text);
    members.insert(&value);
    names.insert(text.name);
  });
  const std::size_t n = Described<T>::count(object);
  CHECK(members.size() == n);
  CHECK(names.size() == n);
  CHECK_NOTHROW(check_numbers(object));
}

inline std::string code(std::string_view text) {
  return text.empty() ? "" : fmt::format("`{}`", text);
}

template <class M>
std::string default_of(const M& value) {
  if constexpr (std::same_as<M, bool>)
    return value ? "yes" : "no";
  else if constexpr (std::is_arithmetic_v<M>)
    return fmt::format("{}", value);
  else if constexpr (std::same_as<M, std::string>)
    return code(value);
  else if constexpr (requires { name_of_value(value); })
    return code(name_of_value(value));
  else
    return "";
}

// The table of the options of T, with a heading.
template <class T>
std::string table_of(std::string_view title) {
  std::string table = fmt::format(
      "\n### {}\n\n| option | group | flag | C | default | meaning |\n"
      "|---|---|---|---|---|---|\n",
      title);
  const T initial;
  for_each_option(initial, [&]<class O, class M>(const O& option, const M& value) {
    std::string range;
    if constexpr (std::is_arithmetic_v<M> && !std::same_as<M, bool>)
      range = fmt::format(" ({}{}{})", expected_number(std::integral<M>, option.range),
                          option.unit.empty() ? "" : ", in ", option.unit);
    const std::string flag =
        option.flags.empty() ? std::string(option.no_flag) : code(option.flags);
    table += fmt::format("| `{}` | {} | {} | {} | {} | {}{} |\n", option.name, option.group, flag,
                         option.c.empty() ? std::string(option.no_c) : code(option.c),
                         default_of(value), option.doc, range);
  });
  return table;
}

// Compares the part of a page between "<!-- NAME: begin -->" and "<!-- NAME: end -->" with
// `tables`, or writes it if WEFT_WRITE_PAGES is set.
inline void check_page(const std::string& path, std::string_view name, std::string tables) {
  tables += "\n";
  std::ifstream file(path);
  std::string page(std::istreambuf_iterator<char>(file), {});
  const std::string mark = fmt::format("<!-- {}: begin -->\n", name);
  const std::size_t begin = page.find(mark), end = page.find(fmt::format("<!-- {}: end -->", name));
  REQUIRE(begin != page.npos);
  REQUIRE(end > begin);
  const std::size_t at = begin + mark.size();
  if (std::getenv("WEFT_WRITE_PAGES")) {
    std::ofstream(path) << page.replace(at, end - at, tables);
    return;
  }
  CHECK_MESSAGE(page.substr(at, end - at) == tables,
                "to write the tables, run this test with WEFT_WRITE_PAGES=1");
}

}  // namespace weft::test
