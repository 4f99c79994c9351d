#pragma once
// What may come next on a command line, for the scripts of shells (tools/weft/completion).

#include <span>
#include <string>

#include "common/help/app_text.h"

namespace weft::cli {

// A program with this first argument prints completions() of the arguments after it.
inline constexpr const char* kCompleteFlag = "--complete";

// What may replace the last of `words`, which is the beginning of a word and may be empty. Lines of
// a word, a tab and its description; instead of words, the line ":files SUFFIX" (the suffix may be
// empty) or ":folders". Shells may give "--flag=value" as three words, as bash does.
std::string completions(const AppText& app, std::span<const std::string> words);

}  // namespace weft::cli
