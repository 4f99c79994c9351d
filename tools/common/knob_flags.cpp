#include "common/knob_flags.h"

#include <cmath>

#include <fmt/format.h>

#include "weft/base/text.h"

namespace weft::cli {

std::string help_text(const KnobText& text) {
  std::string help(text.doc);
  if (help.ends_with('.')) help.pop_back();
  // Abbreviations stay as they are.
  if (help.size() > 1 && to_lower(help[1]) == help[1]) help[0] = to_lower(help[0]);
  return help;
}

std::function<std::string(const std::string&)> number_check(bool whole, KnobRange range) {
  return [whole, range](const std::string& text) -> std::string {
    double number = 0;
    std::int64_t integer = 0;
    const bool is_number = whole ? parse_number(text, integer) : parse_number(text, number);
    if (whole) number = static_cast<double>(integer);
    if (is_number && std::isfinite(number) && range.contains(number)) return "";
    return fmt::format("must be {}, got {}", expected_number(whole, range), text);
  };
}

}  // namespace weft::cli
