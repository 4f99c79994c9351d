#pragma once
// Names from files in messages.

#include <string>
#include <string_view>

namespace weft::arch {

// At most 64 bytes of a name, with '?' for what is not printable ASCII.
inline std::string short_name(std::string_view name) {
  std::string text(name.substr(0, 64));
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  if (name.size() > text.size()) text += "...";
  return text;
}

}  // namespace weft::arch
