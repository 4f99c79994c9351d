#include "common/help/roff.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace weft::cli::roff {
namespace {

constexpr std::size_t kLineWidth = 79;

// Characters that roff shows as others, or reads as a command.
std::string_view escape(char c) {
  switch (c) {
    case '\\':
      return "\\e";
    case '-':
      return "\\-";
    case '\'':
      return "\\(aq";
    case '`':
      return "\\(ga";
    case '^':
      return "\\(ha";
    case '~':
      return "\\(ti";
    default:
      return "";
  }
}

// Dashes after the beginning of a word divide it, unless the word is a flag.
bool is_hyphen(std::string_view text, std::size_t at) {
  const std::size_t space = text.substr(0, at).find_last_of(" (\"'");
  const std::size_t begin = space == text.npos ? 0 : space + 1;
  return text[at] == '-' && at > begin && text[begin] != '-';
}

// "\:" lets a line end there.
std::string breakable(std::string word) {
  for (std::size_t at = 0; word.size() > kLineWidth / 2 && at + 1 < word.size(); ++at)
    if (word[at] == ';') word.insert(++at, "\\:");
  return word;
}

std::string escaped(std::string_view text, bool hyphens) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view as = hyphens && is_hyphen(text, i) ? "" : escape(text[i]);
    as.empty() ? void(result += text[i]) : void(result += as);
  }
  return result;
}

// "\&" shows nothing: a point or a quote after it does not begin a line with a command.
std::string guarded(const std::string& line) {
  return line.starts_with('.') ? "\\&" + line : line;
}

// The text of "[text](address)", if there is such a link at the beginning.
std::string_view link_text(std::string_view text) {
  const std::size_t end = text.find("](");
  return text.starts_with('[') && end < text.find(')') ? text.substr(1, end - 1) : "";
}

// Links within sentences become their texts; those in parentheses are left out.
std::string without_links(std::string_view text) {
  static constexpr std::string_view kOpening = " (";
  std::string result;
  while (!text.empty()) {
    const std::string_view shown = link_text(text);
    const std::size_t end = shown.empty() ? 1 : text.find(')') + 1;
    const std::string_view rest = text.substr(end);
    if (!shown.empty() && result.ends_with(kOpening) && rest.starts_with(')')) {
      result.resize(result.size() - kOpening.size());
      text = rest.substr(1);
      continue;
    }
    result += shown.empty() ? text.substr(0, 1) : shown;
    text = rest;
  }
  return result;
}

}  // namespace

std::string literal(std::string_view text) {
  return guarded(escaped(text, /*hyphens=*/false));
}

std::string bold(std::string_view text) {
  return "\\fB" + escaped(text, false) + "\\fP";
}

std::string italic(std::string_view text) {
  return "\\fI" + escaped(text, false) + "\\fP";
}

std::string prose(std::string_view text) {
  const std::string plain = without_links(text);
  std::string result, line;
  const auto end_line = [&] {
    if (!line.empty()) result += guarded(line) + "\n";
    line.clear();
  };
  bool in_code = false;
  for (std::size_t at = 0; at < plain.size();) {
    const std::size_t end = std::min(plain.find_first_of(" \n", at), plain.size());
    std::string word;
    for (std::size_t i = at, part = at; i <= end; ++i) {
      if (i < end && plain[i] != '`') continue;
      word += escaped(std::string_view(plain).substr(part, i - part), /*hyphens=*/!in_code);
      if (i < end) word += (in_code = !in_code) ? "\\fB" : "\\fP";
      part = i + 1;
    }
    word = breakable(std::move(word));
    if (!line.empty() && line.size() + 1 + word.size() > kLineWidth) end_line();
    line += (line.empty() ? "" : " ") + word;
    if (word.ends_with('.') && !in_code) end_line();
    at = std::min(plain.find_first_not_of(" \n", end), plain.size());
  }
  end_line();
  return result;
}

std::string command_lines(std::string_view command, std::size_t width) {
  static constexpr std::string_view kIndent = "    ";
  std::string result, indent;
  while (indent.size() + command.size() > width) {
    std::size_t cut = 0, before_flag = 0;
    char quote = '\0';
    for (std::size_t i = 0; i < command.size() && (i + indent.size() + 2 <= width || cut == 0);
         ++i) {
      const char c = command[i];
      if (quote != '\0' ? c == quote : c == '\'' || c == '"') quote = quote == '\0' ? c : '\0';
      if (c != ' ' || quote != '\0') continue;
      cut = i;
      if (command.substr(i + 1).starts_with('-')) before_flag = i;
    }
    if (before_flag > width / 2) cut = before_flag;
    if (cut == 0) break;
    result += literal(indent + std::string(command.substr(0, cut))) + " \\e\n";
    command.remove_prefix(cut + 1);
    indent = kIndent;
  }
  return result + literal(indent + std::string(command)) + "\n";
}

}  // namespace weft::cli::roff
