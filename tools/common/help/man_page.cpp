#include "common/help/man_page.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "weft/base/error.h"
#include "weft/files/output_file.h"

#include "common/help/environment.h"
#include "common/help/roff.h"

namespace weft::cli {
namespace {

using roff::bold;
using roff::italic;
using roff::prose;

// Examples are indented twice in pages of 80 columns.
constexpr std::size_t kExampleWidth = 66;

std::string joined(const std::vector<std::string>& words, std::string_view separator = ", ") {
  return fmt::format("{}", fmt::join(words, separator));
}

// "2026-11-30"; empty without SOURCE_DATE_EPOCH.
std::string date() {
  const char* const text = std::getenv("SOURCE_DATE_EPOCH");
  if (!text || !*text) return "";
  const std::string_view digits = text;
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
  std::tm day{};
  const std::time_t time = seconds;
  if (error != std::errc() || end != digits.data() + digits.size() || !gmtime_r(&time, &day))
    fail<ValueError>("SOURCE_DATE_EPOCH: expected seconds since 1970, got '{}'", digits);
  std::array<char, 32> shown{};
  return {shown.data(), std::strftime(shown.data(), shown.size(), "%Y-%m-%d", &day)};
}

std::string with_first(std::string text, int (*change)(int)) {
  // "HTTP" and "GGUF" stay as they are.
  const bool is_word = text.size() > 1 && !std::isupper(static_cast<unsigned char>(text[1]));
  if (is_word) text[0] = static_cast<char>(change(static_cast<unsigned char>(text[0])));
  return text;
}

// What a program does, in a line: its first sentence, up to a colon.
std::string in_short(const std::string& about) {
  std::string text = about.substr(0, std::min(about.find(". "), about.find(": ")));
  text = text.substr(0, text.find(".\n"));
  std::ranges::replace(text, '\n', ' ');
  if (text.ends_with('.')) text.pop_back();
  return with_first(std::move(text), std::tolower);
}

bool has_pages(const AppText& app) {
  return !app.subcommands.empty() && app.subcommands.front().groups.empty();
}

std::vector<const OptionText*> options_of(const OptionGroup& group, bool arguments) {
  std::vector<const OptionText*> found;
  for (const OptionText& option : group.options)
    if (option.is_argument() == arguments) found.push_back(&option);
  return found;
}

std::string synopsis(const std::string& command, const AppText& app) {
  std::string line = ".B " + roff::literal(command) + "\n";
  if (has_pages(app)) return line + italic("SUBCOMMAND") + " [" + italic("OPTIONS") + "]\n";
  line += "[" + italic("OPTIONS") + "]\n";
  for (const OptionGroup& group : app.groups) {
    for (const OptionText* argument : options_of(group, true)) {
      const std::string more = argument->max_values > 1 ? " ..." : "";
      const std::string shown = italic(argument->names.front()) + more;
      line += (argument->required ? shown : "[" + shown + "]") + "\n";
    }
  }
  return line;
}

std::string all_synopses(const AppText& app) {
  if (has_pages(app))
    return synopsis(app.name, app) + ".br\n.B " + roff::literal(app.name) + "\n" +
           italic("OPTION") + "\n";
  if (app.subcommands.empty()) return synopsis(app.name, app);
  std::string lines;
  for (const AppText& part : app.subcommands)
    lines += (lines.empty() ? "" : ".br\n") + synopsis(app.name + " " + part.name, part);
  return lines;
}

// The sentences about an option: what it is, then its values.
std::string about(const OptionText& option) {
  std::string text = option.doc;
  if (!text.empty() && !text.ends_with('.')) text += '.';
  const auto add = [&text](const std::string& sentence) { text += " " + sentence + "."; };
  if (option.required) add("Required");
  if (!option.limits.empty()) add("Values: " + option.limits);
  if (!option.choices.empty()) add("One of " + joined(option.choices));
  if (!option.default_value.empty()) add("Default: " + option.default_value);
  if (!option.needs.empty()) add("Needs " + joined(option.needs));
  if (!option.excludes.empty()) add("Not with " + joined(option.excludes));
  return prose(text);
}

std::string entry(const OptionText& option) {
  std::string names;
  for (const std::string& name : option.names)
    names += (names.empty() ? "" : ", ") + (option.is_argument() ? italic(name) : bold(name));
  return ".TP\n" + names + (option.value.empty() ? "" : " " + italic(option.value)) + "\n" +
         about(option);
}

std::string entries(const std::vector<const OptionText*>& options) {
  std::string lines;
  for (const OptionText* option : options) lines += entry(*option);
  return lines;
}

std::string arguments(const AppText& app) {
  std::string lines;
  for (const OptionGroup& group : app.groups) lines += entries(options_of(group, true));
  return lines;
}

std::string flags(const AppText& app) {
  std::string lines;
  for (const OptionGroup& group : app.groups) {
    const std::string in_group = entries(options_of(group, false));
    if (in_group.empty()) continue;
    if (!group.title.empty())
      lines += ".SS " + roff::literal(with_first(group.title, std::toupper)) + "\n" +
               prose(with_first(group.about, std::toupper) + ":");
    lines += in_group;
  }
  return lines;
}

std::string section(std::string_view title, const std::string& text) {
  return text.empty() ? "" : fmt::format(".SH {}\n{}", title, text);
}

std::string subcommands(const AppText& app) {
  std::string lines;
  for (const AppText& part : app.subcommands) {
    if (has_pages(app))
      lines += ".TP\n" + bold(app.name + " " + part.name) + "\n" + prose(part.about);
    else
      lines += ".SS " + roff::literal(app.name + " " + part.name) + "\n" +
               prose(with_first(part.about, std::toupper) + ".") + arguments(part) + flags(part);
  }
  return section(has_pages(app) ? "SUBCOMMANDS" : "COMMANDS", lines);
}

struct Example {
  std::string command, comment;
};

// "    command   # comment" as an example, or as a part of the one before.
void add_example(std::vector<Example>& examples, std::string_view line) {
  const std::size_t hash = line.find("  # ");
  const std::size_t begin = line.find_first_not_of(' ');
  std::string command(line.substr(0, hash));
  command = command.substr(std::min(begin, command.size()));
  command.resize(command.find_last_not_of(' ') + 1);
  const std::string comment(hash == line.npos ? "" : line.substr(hash + 4));
  const bool is_more = !examples.empty() && examples.back().command.ends_with('\\');
  if (is_more) examples.back().command.pop_back();
  if (is_more || (command.empty() && !examples.empty())) {
    examples.back().command += command;
    examples.back().comment += comment;
  } else {
    examples.push_back({command, comment});
  }
}

// The sections that --help has after the options: "Title:", indented lines, sentences.
class Footer {
 public:
  explicit Footer(const std::string& text) {
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      read(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    end_examples();
    end_sentences();
  }
  std::string text() && { return std::move(text_); }

 private:
  void read(std::string_view line) {
    if (line.empty()) {
      end_sentences();
    } else if (line.front() == ' ') {
      read_indented(line);
    } else if (line.ends_with(':') && line.find(' ') == line.npos) {
      end_examples();
      end_sentences();
      begin_section(line.substr(0, line.size() - 1));
    } else {
      end_examples();
      sentences_.append(line).append(" ");
    }
  }

  // A command, a row of a table ("NAME   text"), or a part of a sentence.
  void read_indented(std::string_view line) {
    line.remove_prefix(line.find_first_not_of(' '));
    const std::size_t gap = line.find("  ");
    if (!shows_commands_ && gap == line.npos) {
      sentences_.append(line).append(" ");
      return;
    }
    end_sentences();
    if (shows_commands_)
      add_example(examples_, line);
    else
      text_ += ".TP\n" + bold(line.substr(0, gap)) + "\n" + prose(line.substr(gap + 2));
  }

  void begin_section(std::string_view name) {
    std::string title(name);
    for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    text_ += ".SH " + title + "\n";
    after_title_ = true;
    shows_commands_ = title.starts_with("EXAMPLE");
  }

  // A heading begins a paragraph by itself.
  std::string paragraph() { return std::exchange(after_title_, false) ? "" : ".PP\n"; }

  void end_examples() {
    for (const Example& example : examples_) {
      const std::string comment = with_first(example.comment, std::toupper);
      // .EE switches hyphens on again.
      text_ += paragraph() + (comment.empty() ? "" : prose(comment + ":")) + ".RS 4\n.EX\n" +
               roff::command_lines(example.command, kExampleWidth) + ".EE\n.RE\n.nh\n";
    }
    examples_.clear();
  }

  void end_sentences() {
    if (sentences_.empty()) return;
    if (text_.empty()) begin_section("notes");
    text_ += paragraph() + prose(sentences_);
    sentences_.clear();
  }

  std::string text_, sentences_;
  std::vector<Example> examples_;
  bool shows_commands_ = false;
  bool after_title_ = false;
};

bool runs_models(const AppText& app) {
  return std::ranges::any_of(app.groups.front().options, [](const OptionText& option) {
    return std::ranges::count(option.names, "--model") > 0;
  });
}

std::string environment(const AppText& app) {
  std::string lines;
  if (!has_pages(app) && !runs_models(app)) return lines;
  for (const EnvironmentText& text : environment_texts())
    if (text.program.empty() || text.program == app.name ||
        (has_pages(app) && text.program.starts_with(app.name)))
      lines += ".TP\n" + bold(text.names) + "\n" + prose(text.doc);
  return lines;
}

// As run_program() (common/program.h) gives it.
constexpr std::string_view kExitStatus =
    ".TP\n0\nSuccess.\n"
    ".TP\n1\nAn error, or a check that failed; a message on the standard error says which.\n"
    ".TP\n2\nWrong usage.\n"
    ".TP\n130\nInterrupted by Ctrl\\-C.\n";

std::string see_also(const AppText& app) {
  std::vector<std::string> pages;
  if (has_pages(app))
    for (const AppText& part : app.subcommands) pages.push_back(app.name + "-" + part.name);
  for (const char* const program : {"weft", "generate", "chat"})
    if (app.name != program) pages.emplace_back(program);
  std::string lines;
  for (const std::string& page : pages)
    lines += ".BR " + roff::literal(page) + (page == pages.back() ? " (1)\n" : " (1),\n");
  return lines;
}

}  // namespace

std::string man_page_name(const AppText& app) {
  std::string name = app.name;
  std::ranges::replace(name, ' ', '-');
  return name;
}

void give_man_page(const AppText& app, std::span<const std::string> arguments) {
  if (arguments.size() > 1)
    fail<ValueError>("{}: expected a folder, got {} arguments", kManFlag, arguments.size());
  if (arguments.empty()) {
    std::cout << man_page(app);
    return;
  }
  OutputFile file(arguments.front() + "/" + man_page_name(app) + ".1");
  file.write(man_page(app));
  file.commit();
}

std::string man_page(const AppText& app) {
  const std::string name = man_page_name(app);
  std::string title = name;
  for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return ".\\\" Made from the descriptions of the flags (tools/common/help).\n" +
         fmt::format(".TH {} 1 \"{}\" \"weft {}\" \"User Commands\"\n", title, date(),
                     WEFT_VERSION) +
         ".nh\n.ad l\n" +
         section("NAME",
                 roff::literal(name) + " \\- " + roff::literal(in_short(app.about)) + "\n") +
         section("SYNOPSIS", all_synopses(app)) + section("DESCRIPTION", prose(app.about)) +
         section("ARGUMENTS", arguments(app)) + subcommands(app) + section("OPTIONS", flags(app)) +
         Footer(app.footer).text() + section("ENVIRONMENT", environment(app)) +
         section("EXIT STATUS", std::string(kExitStatus)) + section("SEE ALSO", see_also(app));
}

}  // namespace weft::cli
