#include <algorithm>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "common/help/environment.h"
#include "common/help/roff.h"
#include "support/described.h"

namespace weft::cli {
namespace {

// "A, B" as "`A`, `B`".
std::string names_as_code(std::string_view names) {
  std::string text = "`";
  for (const char c : names) text += c == ',' ? "`," : c == ' ' ? " `" : std::string(1, c);
  return text + "`";
}

// An item of a list in Markdown, in lines of at most 100 characters.
std::string item(const std::string& text) {
  std::string lines, line = "-";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (line.size() + 1 + end - at > 100) lines += line + "\n", line = " ";
    line += " " + text.substr(at, end - at);
    at = end + 1;
  }
  return lines + line + "\n";
}

TEST_CASE("docs/options.md lists the environment variables") {
  std::string list;
  for (const EnvironmentText& text : environment_texts())
    list += item(names_as_code(text.names) + ": " + std::string(text.doc));
  test::check_page(WEFT_OPTIONS_PAGE, "environment", list);
}

TEST_CASE("roff shows all characters of a command as they are") {
  CHECK(roff::literal("a -b 'c' ~/d ^e `f` \\n") ==
        "a \\-b \\(aqc\\(aq \\(ti/d \\(hae \\(gaf\\(ga \\en");
  CHECK(roff::literal(".TH") == "\\&.TH");
}

TEST_CASE("roff: prose has bold code, flags with dashes, and lines that begin no command") {
  CHECK(roff::prose("see `weft plan -m` and --top-k, a log-file. More.") ==
        "see \\fBweft plan \\-m\\fP and \\-\\-top\\-k, a log-file.\nMore.\n");
  CHECK(roff::prose("in [the tour](tour.md) (or [not]): '.'") ==
        "in the tour (or [not]): \\(aq.\\(aq\n");
  std::string words;
  for (int i = 0; i < 100; ++i) words += ".toml ";
  const std::string lines = roff::prose(words);
  CHECK(lines.starts_with("\\&.toml .toml"));
  CHECK(lines.find("\n.toml") == lines.npos);
  for (std::size_t at = 0; at < lines.size(); at = lines.find('\n', at) + 1)
    CHECK(lines.find('\n', at) - at <= 79 + 2);
}

TEST_CASE("roff divides commands at spaces that are not quoted") {
  CHECK(roff::command_lines("weft plan -m a", 66) == "weft plan \\-m a\n");
  CHECK(roff::command_lines("curl -d '{\"a\": \"b c d\"}' http://x", 26) ==
        "curl \\-d \\(aq{\"a\": \"b c d\"}\\(aq \\e\n    http://x\n");
  CHECK(roff::command_lines("curl '1 2 3 4 5 6 7 8 9 10' x", 10) ==
        "curl \\e\n    \\(aq1 2 3 4 5 6 7 8 9 10\\(aq \\e\n    x\n");
}

}  // namespace
}  // namespace weft::cli
