#include "common/help/app_text.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include <CLI/CLI.hpp>

namespace weft::cli {
namespace {

constexpr std::string_view kSuffixIs = "suffix ";

// The validators of an option, which CLI11 gives by number only.
std::vector<const CLI::Validator*> validators(CLI::Option& option) {
  std::vector<const CLI::Validator*> all;
  try {
    for (int i = 0;; ++i) all.push_back(option.get_validator(i));
  } catch (const CLI::OptionNotFound&) {
    return all;
  }
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    parts.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return parts;
}

// Reads what the validators tell, and removes it from the name of the value.
void read_validators(CLI::Option& option, OptionText& text) {
  for (const CLI::Validator* validator : validators(option)) {
    const std::string& name = validator->get_name();
    const std::string about = validator->get_description();
    if (name == kLimits) text.limits = about;
    if (name == kChoices) text.choices = split(about.substr(1, about.size() - 2));
    if (name.starts_with(kSuffixIs)) text.suffix = name.substr(kSuffixIs.size());
    if (!about.empty() && text.value.ends_with(":" + about))
      text.value.resize(text.value.size() - about.size() - 1);
  }
}

// Shells offer files for texts: they may be names of files.
ValueKind kind_of(const OptionText& text, bool is_number) {
  if (text.value.starts_with("DIR")) return ValueKind::folder;
  return is_number ? ValueKind::none : ValueKind::file;
}

bool is_number(std::string_view value) {
  static constexpr std::array<std::string_view, 8> kNumbers = {"N", "X",   "F",    "P",
                                                               "K", "INT", "UINT", "FLOAT"};
  return std::ranges::count(kNumbers, value) > 0 || value.starts_with("N,") ||
         value.starts_with("N[");
}

std::vector<std::string> names_of(const std::set<CLI::Option*>& options) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options) names.push_back(option->get_name());
  std::ranges::sort(names);  // the set is ordered by addresses
  return names;
}

// Describes one face of an option that may be given as a flag or as an argument.
OptionText describe(CLI::Option& option, bool argument) {
  OptionText text;
  if (argument) {
    text.names.push_back(option.get_name(/*positional=*/true));
  } else {
    for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  }
  text.min_values = option.get_items_expected_min();
  text.max_values = option.get_items_expected_max();
  if (text.max_values > 0) {
    text.value = option.get_type_name();
    read_validators(option, text);
    text.kind = kind_of(text, !text.limits.empty() || is_number(text.value));
    const std::size_t dot = text.value.find("FILE.") == 0 ? 4 : text.value.size();
    if (text.suffix.empty()) text.suffix = text.value.substr(dot);
  }
  if (argument) text.value.clear();
  text.default_value = option.get_default_str();
  text.doc = option.get_description();
  text.needs = names_of(option.get_needs());
  text.excludes = names_of(option.get_excludes());
  text.required = option.get_required();
  return text;
}

std::vector<OptionText> options_of(CLI::App& app) {
  std::vector<OptionText> all;
  for (CLI::Option* option : app.get_options()) {
    // CLI11 gives groups a flag for help that is never parsed.
    const bool of_group = app.get_name().empty() && option == app.get_help_ptr();
    if (of_group || option->get_group().empty()) continue;
    if (option->get_positional()) all.push_back(describe(*option, /*argument=*/true));
    if (option->nonpositional()) all.push_back(describe(*option, /*argument=*/false));
  }
  return all;
}

}  // namespace

std::string suffix_validator(const std::string& suffix) {
  return std::string(kSuffixIs) + suffix;
}

AppText describe(CLI::App& app) {
  AppText text{.name = app.get_name(),
               .about = app.get_description(),
               .footer = app.get_footer(),
               .groups = {{.title = "", .about = "", .options = options_of(app)}},
               .subcommands = {}};
  for (CLI::App* part : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (part->get_name().empty())
      text.groups.push_back({part->get_group(), part->get_description(), options_of(*part)});
    else
      text.subcommands.push_back(describe(*part));
  }
  return text;
}

}  // namespace weft::cli
