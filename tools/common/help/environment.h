#pragma once
#include <span>
#include <string_view>

namespace weft::cli {

// An environment variable that programs read. The list in docs/options.md and the pages of `man`
// are made from it.
struct EnvironmentText {
  std::string_view names;    // "NOTIFY_SOCKET, LISTEN_PID"
  std::string_view program;  // the only one that reads it, as in "weft serve"; empty: several do
  std::string_view doc;      // sentences, in Markdown
};

std::span<const EnvironmentText> environment_texts();

}  // namespace weft::cli
