#include "common/app.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "weft/base/knob.h"
#include "weft/base/text.h"

#include "common/help/app_text.h"
#include "common/help/completion.h"
#include "common/help/man_page.h"
#include "common/peer_flags.h"
#include "common/program.h"

namespace weft::cli {

Option Option::required(bool required) const {
  return Option(option_->required(required));
}

Option Option::expected(int n) const {
  return Option(option_->expected(n));
}

Option Option::expected(int min, int max) const {
  return Option(option_->expected(min, max));
}

Option Option::excludes(Option other) const {
  return Option(option_->excludes(other.option_));
}

Option Option::needs(Option other) const {
  return Option(option_->needs(other.option_));
}

namespace {

// The range without limits that only the type of the number has.
KnobRange without_limits_of_type(bool whole, KnobRange range) {
  const double most = whole ? 0x1p31 - 1 : 1e38;
  if (range.min < -most) range.min = KnobRange().min;
  if (range.max >= most) range.max = KnobRange().max;
  return range;
}

// "0 to 256", "from 1"; empty: no limits.
std::string shown(bool whole, KnobRange range) {
  constexpr std::string_view kFrom = "from ";
  range = without_limits_of_type(whole, range);
  const std::string text = limits_text(whole, range);
  return std::isfinite(range.min) && std::isfinite(range.max) ? text.substr(kFrom.size()) : text;
}

std::string number_problem(const std::string& text, bool whole, KnobRange range) {
  double number = 0;
  std::int64_t integer = 0;
  const bool is_number = whole ? parse_number(text, integer) : parse_number(text, number);
  if (whole) number = static_cast<double>(integer);
  if (is_number && std::isfinite(number) && range.contains(number)) return "";
  return fmt::format("must be {}, got {}", expected_number(whole, range), text);
}

}  // namespace

Option Option::number(bool whole, double min, double max) const {
  const KnobRange range{min, max};
  return Option(option_->check(CLI::Validator(
      [whole, range](std::string& text) { return number_problem(text, whole, range); },
      shown(whole, range), kLimits)));
}

Option Option::range(std::int64_t min, std::int64_t max) const {
  return number(true, static_cast<double>(min), static_cast<double>(max));
}

Option Option::real_range(double min, double max) const {
  return number(false, min, max);
}

Option Option::not_negative() const {
  return number(false, 0, KnobRange().max);
}

Option Option::one_of(const std::vector<std::string>& names) const {
  const auto problem = [names](std::string& text) -> std::string {
    if (std::ranges::count(names, text) > 0) return "";
    return fmt::format("must be one of {}, got '{}'", fmt::join(names, ", "), text);
  };
  return Option(option_->check(
      CLI::Validator(problem, fmt::format("{{{}}}", fmt::join(names, ",")), kChoices)));
}

Option Option::file_suffix(const std::string& suffix) const {
  const auto any = [](std::string&) -> std::string { return ""; };
  return Option(option_->check(CLI::Validator(any, "", suffix_validator(suffix))));
}

Option Option::check(const std::function<std::string(const std::string&)>& check) const {
  return Option(option_->check(check));
}

Option Option::take_all() const {
  return Option(option_->multi_option_policy(CLI::MultiOptionPolicy::TakeAll));
}

Option Option::allow_extra_args(bool allow) const {
  return Option(option_->allow_extra_args(allow));
}

Option Option::delimiter(char delimiter) const {
  return Option(option_->delimiter(delimiter));
}

Option Option::trigger_on_parse() const {
  return Option(option_->trigger_on_parse());
}

Option Option::each(const std::function<void(const std::string&)>& function) const {
  return Option(option_->each(function));
}

Option Option::type_name(const std::string& name) const {
  return Option(option_->type_name(name));
}

Option Option::description(const std::string& text) const {
  return Option(option_->description(text));
}

Option Option::default_str(const std::string& text) const {
  return Option(option_->default_str(text));
}

Option Option::capture_default_str() const {
  return Option(option_->capture_default_str());
}

bool Option::given() const {
  return option_->count() > 0;
}

std::string Option::name() const {
  return option_->get_name();
}

void reject_value(const std::string& name, const std::string& why) {
  throw CLI::ValidationError(name, why);
}

bool parse_number(const std::string& text, std::int64_t& number) {
  return CLI::detail::lexical_cast(text, number);
}

bool parse_number(const std::string& text, double& number) {
  return CLI::detail::lexical_cast(text, number);
}

App::App(const std::string& description, const std::string& name)
    : app_(std::make_shared<CLI::App>(description, name)) {}

void App::footer(const std::string& text) {
  app_->footer(text);
}

void App::footer(const std::function<std::string()>& text) {
  app_->footer(text);
}

Option App::add_option(const std::string& names, std::string& target, const std::string& what) {
  return Option(app_->add_option(names, target, what));
}

Option App::add_option(const std::string& names, std::vector<std::string>& target,
                       const std::string& what) {
  return Option(app_->add_option(names, target, what));
}

Option App::add_option(const std::string& names, std::int32_t& target, const std::string& what) {
  return Option(app_->add_option(names, target, what));
}

Option App::add_option(const std::string& names, std::int64_t& target, const std::string& what) {
  return Option(app_->add_option(names, target, what));
}

Option App::add_option(const std::string& names, std::uint32_t& target, const std::string& what) {
  return Option(app_->add_option(names, target, what));
}

Option App::add_option(const std::string& names, std::uint64_t& target, const std::string& what) {
  return Option(app_->add_option(names, target, what));
}

Option App::add_option(const std::string& names, float& target, const std::string& what) {
  return Option(app_->add_option(names, target, what));
}

Option App::add_option(const std::string& names, double& target, const std::string& what) {
  return Option(app_->add_option(names, target, what));
}

Option App::add_option(const std::string& names, std::optional<std::int32_t>& target,
                       const std::string& what) {
  return Option(app_->add_option(names, target, what));
}

Option App::add_flag(const std::string& names, bool& target, const std::string& what) {
  return Option(app_->add_flag(names, target, what));
}

Option App::add_option_function(const std::string& names, const Function<std::string>& function,
                                const std::string& what) {
  return Option(app_->add_option_function(names, function, what));
}

Option App::add_option_function(const std::string& names, const Function<std::int64_t>& function,
                                const std::string& what) {
  return Option(app_->add_option_function(names, function, what));
}

Option App::add_option_function(const std::string& names,
                                const Function<std::vector<std::string>>& function,
                                const std::string& what) {
  return Option(app_->add_option_function(names, function, what));
}

Option App::add_option_function(const std::string& names,
                                const Function<std::vector<std::int64_t>>& function,
                                const std::string& what) {
  return Option(app_->add_option_function(names, function, what));
}

Option App::add_flag_callback(const std::string& names, const std::function<void()>& function,
                              const std::string& what) {
  return Option(app_->add_flag_callback(names, function, what));
}

// The parent owns groups and subcommands.
App App::add_option_group(const std::string& name, const std::string& description) {
  return App(std::shared_ptr<CLI::App>(app_, app_->add_option_group(name, description)));
}

void App::require_option(std::size_t min, std::size_t max) {
  app_->require_option(min, max);
}

App App::add_subcommand(const std::string& name, const std::string& description) {
  return App(std::shared_ptr<CLI::App>(app_, app_->add_subcommand(name, description)));
}

void App::require_subcommand(std::size_t n) {
  app_->require_subcommand(n, n);
}

bool App::parsed() const {
  return app_->parsed();
}

Option App::get_option(const std::string& name) const {
  return Option(app_->get_option(name));
}

std::vector<Option> App::get_options() const {
  std::vector<Option> options;
  for (CLI::Option* option : app_->get_options()) options.push_back(Option(option));
  return options;
}

void App::remove_option(const std::string& name) {
  app_->remove_option(app_->get_option(name));
}

void App::last_value_counts() {
  app_->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void App::parse_complete_callback(const std::function<void()>& function) {
  app_->parse_complete_callback(function);
}

namespace {

// The names of all flags, those of groups among them.
std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  for (const CLI::App* group : app.get_subcommands([](const CLI::App*) { return true; }))
    if (group->get_name().empty())
      for (std::string& name : flag_names(*group)) names.push_back(std::move(name));
  return names;
}

// OwnFlags::n_values of an app and its subcommands.
int n_values(const CLI::App& app, const std::string& name) {
  if (const CLI::Option* option = app.get_option_no_throw(name))
    return option->get_items_expected_min();
  for (const CLI::App* part : app.get_subcommands([](const CLI::App*) { return true; }))
    if (const int n = n_values(*part, name); n >= 0) return n;
  return -1;
}

// The message for unknown arguments: the first flag among them, and the nearest known one.
std::string unknown_text(const CLI::App& app) {
  std::vector<std::string> words = app.remaining(true);
  std::ranges::reverse(words);
  const auto flag = std::ranges::find_if(
      words, [](const std::string& word) { return word.size() > 1 && word.starts_with('-'); });
  if (flag == words.end())
    return words.empty() ? "too many arguments" : "unexpected argument '" + words.front() + "'";
  const std::string name = flag->substr(0, flag->find('='));
  std::string nearest;
  std::size_t least = near_distance(name) + 1;
  for (const std::string& known : flag_names(app)) {
    const std::size_t distance = edit_distance(name, known);
    if (distance < least) least = distance, nearest = known;
  }
  return "unknown option " + name + (nearest.empty() ? "" : "; did you mean " + nearest + "?");
}

// Whether the arguments are those of answer_about_flags().
bool asks_about_flags(int argc, const char* const* argv) {
  return argc > 1 &&
         (argv[1] == std::string_view(kManFlag) || argv[1] == std::string_view(kCompleteFlag));
}

// Gives the page of `man`, or what a shell offers.
void answer_about_flags(CLI::App& app, int argc, const char* const* argv) {
  const std::vector<std::string> words(argv + 2, argv + argc);
  if (argv[1] == std::string_view(kManFlag))
    give_man_page(describe(app), words);
  else
    std::cout << completions(describe(app), words);
}

}  // namespace

std::vector<std::string> own_arguments(const App& app, int argc, const char* const* argv,
                                       std::vector<std::string>* notes) {
  if (asks_about_flags(argc, argv)) return {};
  const CLI::App& flags = *app.app_;
  const std::string program = flags.get_name();
  std::vector<std::string> dropped;
  return without_peer_flags(
      {argv + std::min(argc, 1), argv + argc},
      {program, [&](const std::string& name) { return n_values(flags, name); }},
      notes ? *notes : dropped);
}

std::optional<int> parse_flags(App& app, int argc, char** argv) {
  if (asks_about_flags(argc, argv)) {
    answer_about_flags(*app.app_, argc, argv);
    return 0;
  }
  try {
    std::vector<std::string> notes;
    std::vector<std::string> arguments = own_arguments(app, argc, argv, &notes);
    if (!notes.empty()) std::cerr << fmt::format("warning: {}\n", fmt::join(notes, "; "));
    std::ranges::reverse(arguments);  // as CLI11 wants them
    app.app_->parse(std::move(arguments));
    return std::nullopt;
  } catch (const CLI::ExtrasError&) {
    std::cerr << unknown_text(*app.app_) << "\nRun with --help for more information.\n";
    return kWrongUsage;
  } catch (const CLI::ParseError& error) {
    return app.app_->exit(error) == 0 ? 0 : kWrongUsage;
  }
}

}  // namespace weft::cli
