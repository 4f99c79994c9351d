#include "common/help/completion.h"

#include <cstddef>
#include <string_view>

namespace weft::cli {
namespace {

const OptionText* find(const AppText& app, std::string_view name) {
  for (const OptionGroup& group : app.groups)
    for (const OptionText& option : group.options)
      for (const std::string& known : option.names)
        if (known == name) return &option;
  return nullptr;
}

// The argument that the word after `number` others is a value of; null if there is none.
const OptionText* argument(const AppText& app, int number) {
  for (const OptionGroup& group : app.groups) {
    for (const OptionText& option : group.options) {
      if (!option.is_argument()) continue;
      if (number < option.max_values) return &option;
      number -= option.max_values;
    }
  }
  return nullptr;
}

// A short text: up to the end of its first sentence or part.
std::string_view summary(std::string_view text) {
  return text.substr(0, text.find_first_of(";\n"));
}

void add(std::string& lines, std::string_view word, std::string_view begin,
         std::string_view about) {
  if (!word.starts_with(begin)) return;
  lines.append(word).append("\t").append(summary(about)).append("\n");
}

// Lines for a value; `before` is what the shell takes for a part of the word.
std::string values(const OptionText& option, std::string_view begin, std::string_view before) {
  std::string lines;
  for (const std::string& choice : option.choices)
    if (choice.starts_with(begin)) lines.append(before).append(choice).append("\t\n");
  if (!option.choices.empty()) return lines;
  if (option.kind == ValueKind::folder) return ":folders\n";
  return option.kind == ValueKind::file ? ":files " + option.suffix + "\n" : "";
}

std::string flags(const AppText& app, std::string_view begin) {
  std::string lines;
  for (const OptionGroup& group : app.groups)
    for (const OptionText& option : group.options)
      for (const std::string& name : option.names)
        if (!option.is_argument()) add(lines, name, begin, option.doc);
  return lines;
}

// Reads the words before the last one.
struct Reader {
  const AppText* app;
  const OptionText* pending = nullptr;  // the flag that the next word is a value of
  int n_pending = 0;
  int n_arguments = 0;
  bool only_arguments = false;

  void read(const std::string& word) {
    if (word == "=") return;  // bash divides --flag=value
    if (pending) {
      if (--n_pending <= 0) pending = nullptr;
    } else if (word == "--") {
      only_arguments = true;
    } else if (word.starts_with('-') && word.size() > 1 && !only_arguments) {
      read_flag(word);
    } else if (!enter(word)) {
      ++n_arguments;
    }
  }

 private:
  void read_flag(const std::string& word) {
    const OptionText* const flag = find(*app, word);
    if (!flag || flag->min_values == 0) return;
    pending = flag;
    n_pending = flag->min_values;
  }
  bool enter(const std::string& word) {
    for (const AppText& subcommand : app->subcommands) {
      if (subcommand.name != word) continue;
      app = &subcommand;
      return true;
    }
    return false;
  }
};

}  // namespace

std::string completions(const AppText& app, std::span<const std::string> words) {
  if (words.empty()) return "";
  Reader reader{&app};
  for (const std::string& word : words.first(words.size() - 1)) reader.read(word);
  std::string_view begin = words.back();
  if (reader.pending) return values(*reader.pending, begin == "=" ? "" : begin, "");
  if (begin.starts_with('-') && !reader.only_arguments) {
    const std::size_t sign = begin.find('=');
    if (sign == begin.npos) return flags(*reader.app, begin);
    const OptionText* const flag = find(*reader.app, begin.substr(0, sign));
    return flag ? values(*flag, begin.substr(sign + 1), begin.substr(0, sign + 1)) : "";
  }
  std::string lines;
  for (const AppText& subcommand : reader.app->subcommands)
    add(lines, subcommand.name, begin, subcommand.about);
  if (!lines.empty()) return lines;
  const OptionText* const next = argument(*reader.app, reader.n_arguments);
  if (next) return values(*next, begin, "");
  return begin.empty() ? flags(*reader.app, "--") : "";
}

}  // namespace weft::cli
