#pragma once
// What a program says about its flags, as data: --help, man pages and completions have one source.

#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace weft::cli {

// What shells offer as a value, if the option has no choices.
enum class ValueKind { none, file, folder };

// A flag or an argument.
struct OptionText {
  std::vector<std::string> names;  // "-m", "--model"; of an argument "IN"
  std::string value;               // "FILE"; empty for switches and arguments
  std::string limits;              // "0 to 256"; empty if there are none
  std::vector<std::string> choices;
  ValueKind kind = ValueKind::none;
  std::string suffix;  // of files: ".gguf"; empty for any
  std::string default_value;
  std::string doc;
  std::vector<std::string> needs, excludes;  // names of other options
  int min_values = 0, max_values = 0;        // words after the name
  bool required = false;

  bool is_argument() const { return !names.front().starts_with('-'); }
};

struct OptionGroup {
  std::string title, about;  // both empty for options that are in no group
  std::vector<OptionText> options;
};

// A program, or a subcommand.
struct AppText {
  std::string name;   // "weft plan"; of subcommands of another one "encode"
  std::string about;  // sentences
  std::string footer;
  std::vector<OptionGroup> groups;  // the first one is in no group
  std::vector<AppText> subcommands;
};

// The name of a validator (CLI11) that accepts everything and tells the suffix of files.
std::string suffix_validator(const std::string& suffix);
// The names of validators that tell limits, and choices as "{a,b}".
inline constexpr const char* kLimits = "limits";
inline constexpr const char* kChoices = "choices";

// Reads the declarations of an app. Does not parse anything.
AppText describe(CLI::App& app);

}  // namespace weft::cli
