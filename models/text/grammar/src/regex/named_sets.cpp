#include "regex/named_sets.h"

#include <string_view>
#include <utility>

#include <utf8proc.h>

#include "weft/base/utf8.h"

namespace weft::grammar {
namespace {

constexpr std::pair<std::string_view, std::string_view> kLongNames[] = {{"Letter", "L"},
                                                                        {"Uppercase_Letter", "Lu"},
                                                                        {"Lowercase_Letter", "Ll"},
                                                                        {"Titlecase_Letter", "Lt"},
                                                                        {"Modifier_Letter", "Lm"},
                                                                        {"Other_Letter", "Lo"},
                                                                        {"Mark", "M"},
                                                                        {"Number", "N"},
                                                                        {"Decimal_Number", "Nd"},
                                                                        {"digit", "Nd"},
                                                                        {"Letter_Number", "Nl"},
                                                                        {"Punctuation", "P"},
                                                                        {"punct", "P"},
                                                                        {"Symbol", "S"},
                                                                        {"Math_Symbol", "Sm"},
                                                                        {"Currency_Symbol", "Sc"},
                                                                        {"Separator", "Z"},
                                                                        {"Space_Separator", "Zs"},
                                                                        {"Other", "C"},
                                                                        {"Control", "Cc"},
                                                                        {"cntrl", "Cc"}};

// All characters whose category begins with `name`.
CodePoints with_category(std::string_view name) {
  CodePoints set;
  char32_t begin = 0;
  bool inside = false;
  for (char32_t code = 0; code <= kMaxCodePoint + 1; ++code) {
    const std::string_view has =
        code > kMaxCodePoint ? "" : utf8proc_category_string(static_cast<utf8proc_int32_t>(code));
    const bool in = has.starts_with(name);
    if (in && !inside) begin = code;
    if (!in && inside) set.add(begin, code - 1);
    inside = in;
  }
  return set;
}

}  // namespace

CodePoints digits() {
  return {'0', '9'};
}

CodePoints word() {
  CodePoints set('0', '9');
  set.add('A', 'Z');
  set.add('a', 'z');
  set.add('_', '_');
  return set;
}

CodePoints spaces() {
  CodePoints set('\t', '\r');
  set.add(' ', ' ');
  set.add(0xA0, 0xA0);
  set.add(0x1680, 0x1680);
  set.add(0x2000, 0x200A);
  set.add(0x2028, 0x2029);
  set.add(0x202F, 0x202F);
  set.add(0x205F, 0x205F);
  set.add(0x3000, 0x3000);
  set.add(0xFEFF, 0xFEFF);
  return set;
}

CodePoints line_ends() {
  CodePoints set = CodePoints::of("\n\r");
  set.add(0x2028, 0x2029);
  return set;
}

CodePoints category(std::string name) {
  for (const std::string_view prefix : {"General_Category=", "gc="})
    if (name.starts_with(prefix)) name.erase(0, prefix.size());
  for (const auto& [long_name, short_name] : kLongNames)
    if (name == long_name) name = short_name;
  if (name == "ASCII") return {0, 0x7F};
  if (name == "Any") return CodePoints::all();
  return name.empty() || name.size() > 2 ? CodePoints() : with_category(name);
}

}  // namespace weft::grammar
