#pragma once
// The flags and arguments of a program or subcommand. CLI11 parses them. Only app.cpp and
// help/app_text.cpp include its headers, which take seconds to compile.
//
// A function named as in CLI11 does the same (https://cliutils.github.io/CLI11/book/). Names are
// "-s,--long" for a flag and "NAME" for an argument. Wrong declarations, such as the same name
// twice, throw std::runtime_error.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace weft::cli {

// A flag or an argument. A handle, valid as long as its App; functions return it again.
class Option {
 public:
  Option required(bool required = true) const;
  Option expected(int n) const;  // values; -1: any number from 1 on
  Option expected(int min, int max) const;
  Option excludes(Option other) const;
  Option needs(Option other) const;

  // The accepted values. Limits are inclusive; numbers are finite.
  Option number(bool whole, double min, double max) const;
  Option range(std::int64_t min, std::int64_t max) const;
  template <std::floating_point T>
  Option range(T min, T max) const = delete;
  Option real_range(double min, double max) const;
  Option not_negative() const;
  Option one_of(const std::vector<std::string>& names) const;
  // Only for shells, which offer files with this end; others are accepted, too.
  Option file_suffix(const std::string& suffix) const;
  // `check` returns the problem with a value, or "".
  Option check(const std::function<std::string(const std::string&)>& check) const;

  // Keeps the values of all occurrences. Otherwise a repeated flag is an error, or its last value
  // counts (App::last_value_counts).
  Option take_all() const;
  Option allow_extra_args(bool allow) const;  // several values after one occurrence
  Option delimiter(char delimiter) const;     // between values in one word
  // Runs the function of the option in the order of the command line, not after parsing.
  Option trigger_on_parse() const;
  // Calls the function for every value.
  Option each(const std::function<void(const std::string&)>& function) const;

  // The texts in --help.
  Option type_name(const std::string& name) const;
  Option description(const std::string& text) const;
  Option default_str(const std::string& text) const;
  Option capture_default_str() const;  // the target's present value

  bool given() const;        // after parsing
  std::string name() const;  // the long one, if there are several

 private:
  friend class App;
  explicit Option(CLI::Option* option) : option_(option) {}
  CLI::Option* option_;
};

// Refuses a value of the flag `name`. For functions of options, while flags are parsed.
[[noreturn]] void reject_value(const std::string& name, const std::string& why);
// Numbers as flags accept them. False, and any value in `number`, if `text` is not one.
bool parse_number(const std::string& text, std::int64_t& number);
bool parse_number(const std::string& text, double& number);

// The flags of a program, of a subcommand or of a group. A handle: copies are the same App. Targets
// and data that functions refer to must exist until the flags are parsed; --help reads targets for
// capture_default_str() when it is called. Not thread-safe.
class App {
 public:
  App(const std::string& description, const std::string& name);

  void footer(const std::string& text);
  void footer(const std::function<std::string()>& text);  // called if --help is given

  // Without the flag, the target keeps its value.
  Option add_option(const std::string& names, std::string& target, const std::string& what);
  Option add_option(const std::string& names, std::vector<std::string>& target,
                    const std::string& what);
  Option add_option(const std::string& names, std::int32_t& target, const std::string& what);
  Option add_option(const std::string& names, std::int64_t& target, const std::string& what);
  Option add_option(const std::string& names, std::uint32_t& target, const std::string& what);
  Option add_option(const std::string& names, std::uint64_t& target, const std::string& what);
  Option add_option(const std::string& names, float& target, const std::string& what);
  Option add_option(const std::string& names, double& target, const std::string& what);
  Option add_option(const std::string& names, std::optional<std::int32_t>& target,
                    const std::string& what);
  Option add_flag(const std::string& names, bool& target, const std::string& what);

  // Calls `function` with the value, once, after parsing (but see Option::trigger_on_parse).
  template <typename T>
  using Function = std::function<void(const T&)>;
  Option add_option_function(const std::string& names, const Function<std::string>& function,
                             const std::string& what);
  Option add_option_function(const std::string& names, const Function<std::int64_t>& function,
                             const std::string& what);
  Option add_option_function(const std::string& names,
                             const Function<std::vector<std::string>>& function,
                             const std::string& what);
  Option add_option_function(const std::string& names,
                             const Function<std::vector<std::int64_t>>& function,
                             const std::string& what);
  Option add_flag_callback(const std::string& names, const std::function<void()>& function,
                           const std::string& what);

  App add_option_group(const std::string& name, const std::string& description);
  void require_option(std::size_t min, std::size_t max);
  App add_subcommand(const std::string& name, const std::string& description);
  void require_subcommand(std::size_t n);
  bool parsed() const;  // whether the command line has this subcommand

  // Throws std::runtime_error if there is none with this name.
  Option get_option(const std::string& name) const;
  std::vector<Option> get_options() const;  // without those of groups
  void remove_option(const std::string& name);
  // For options added from now on: if one is repeated, the last value counts.
  void last_value_counts();
  void parse_complete_callback(const std::function<void()>& function);

 private:
  friend std::optional<int> parse_flags(App& app, int argc, char** argv);
  friend std::vector<std::string> own_arguments(const App& app, int argc, const char* const* argv,
                                                std::vector<std::string>* notes);
  explicit App(std::shared_ptr<CLI::App> app) : app_(std::move(app)) {}
  std::shared_ptr<CLI::App> app_;
};

// The arguments after the program's name, as without_peer_flags() (common/peer_flags.h) gives them.
// Without `notes` what it notes is dropped.
std::vector<std::string> own_arguments(const App& app, int argc, const char* const* argv,
                                       std::vector<std::string>* notes = nullptr);

// Parses own_arguments(). Prints what was ignored, as one line, to stderr. Returns an exit code if
// the program should end: 0 after --help, 2 for wrong usage. Prints help to stdout, errors to
// stderr. Also answers the two first arguments that --help does not list: kManFlag
// (common/help/man_page.h) and kCompleteFlag (common/help/completion.h). Passes on exceptions of
// the functions of options, and UsageError for flags of llama.cpp that are refused.
std::optional<int> parse_flags(App& app, int argc, char** argv);

}  // namespace weft::cli
