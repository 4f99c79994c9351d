#include "common/knob_flags.h"

#include "weft/base/text.h"

namespace weft::cli {

std::string help_text(const KnobText& text) {
  std::string help(text.doc);
  if (help.ends_with('.')) help.pop_back();
  // Abbreviations stay as they are.
  if (help.size() > 1 && to_lower(help[1]) == help[1]) help[0] = to_lower(help[0]);
  return help;
}

}  // namespace weft::cli
