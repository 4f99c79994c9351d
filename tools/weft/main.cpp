#include <cstring>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/help/completion.h"
#include "common/help/man_page.h"
#include "common/terminal_output.h"
#include "subcommand.h"
#include "version.h"

#ifdef WEFT_ONE_PROGRAM
#include "chat/program.h"
#include "generate/program.h"
#endif

namespace weft::tools {
namespace {

constexpr const char* kHelpText = "list the subcommands";
constexpr const char* kVersionText =
    "print the version; with --verbose, also how this program was built, and the instruction set "
    "that it uses";

void print_usage(std::ostream& out) {
  out << "Usage: weft SUBCOMMAND [options]\n       weft --version [--verbose]\n\nSubcommands (weft "
         "SUBCOMMAND --help shows its options):\n";
  for (const Subcommand* subcommand : kSubcommands) {
    out << "  " << subcommand->name << std::string(17 - std::strlen(subcommand->name), ' ')
        << subcommand->summary << '\n';
  }
}

cli::AppText describe_program() {
  cli::AppText text{
      .name = "weft",
      .about =
          "Runs, inspects and measures language models on CPUs. weft SUBCOMMAND --help shows "
          "the options of a subcommand.",
      .footer = "",
      .groups = {{.title = "", .about = "", .options = {}}},
      .subcommands = {}};
  std::vector<cli::OptionText>& options = text.groups.front().options;
  options.push_back({.names = {"-h", "--help"}, .doc = kHelpText});
  options.push_back({.names = {"--version"}, .doc = kVersionText});
  for (const Subcommand* subcommand : kSubcommands)
    text.subcommands.push_back({.name = subcommand->name, .about = subcommand->summary});
  return text;
}

int print_version(const std::vector<std::string>& more) {
  const bool verbose = more == std::vector<std::string>{"--verbose"};
  if (!verbose && !more.empty())
    fail<cli::UsageError>("--version: unexpected argument '{}'", more.front());
  std::cout << version_text() << '\n' << (verbose ? build_text() : "");
  return 0;
}

// Prints the page of `man`, or writes it and those of all subcommands into a folder.
int write_man_pages(const std::vector<std::string>& folder) {
  cli::give_man_page(describe_program(), folder);
  if (folder.empty()) return 0;
  for (const Subcommand* subcommand : kSubcommands) {
    std::string name = subcommand->name, flag = cli::kManFlag, into = folder.front();
    char* words[] = {name.data(), flag.data(), into.data(), nullptr};
    if (const int code = subcommand->run(3, words)) return code;
  }
  return 0;
}

// Answers flags before a subcommand.
int run_flag(const std::string& flag, const std::vector<std::string>& more) {
  if (flag == cli::kManFlag) return write_man_pages(more);
  if (flag == "--version") return print_version(more);
  if (flag == cli::kCompleteFlag)
    std::cout << cli::completions(describe_program(), more);
  else
    print_usage(std::cout);
  return 0;
}

bool is_flag(const std::string& word) {
  return word == "--help" || word == "-h" || word == "help" || word == "--version" ||
         word == cli::kManFlag || word == cli::kCompleteFlag;
}

}  // namespace
}  // namespace weft::tools

int main(int argc, char** argv) {
  using namespace weft::tools;
#ifdef WEFT_ONE_PROGRAM
  const std::string_view path = argc > 0 ? argv[0] : "", called = path.substr(path.rfind('/') + 1);
  if (called == "generate") return weft::generate::run_program(argc, argv);
  if (called == "chat") return weft::chat::run_program(argc, argv);
#endif
  // "weft --complete SUBCOMMAND WORD..." is a question to the subcommand.
  if (argc > 3 && std::strcmp(argv[1], weft::cli::kCompleteFlag) == 0) std::swap(argv[1], argv[2]);
  const std::string name = argc > 1 ? argv[1] : "";
  if (is_flag(name))
    return weft::cli::run_program(
        "weft", [&] { return run_flag(name, std::vector<std::string>(argv + 2, argv + argc)); });
  for (const Subcommand* subcommand : kSubcommands) {
    if (name == subcommand->name)
      return weft::cli::run_program("weft " + name,
                                    [&] { return subcommand->run(argc - 1, argv + 1); });
  }
  weft::cli::guard_terminals();
  if (!name.empty()) std::cerr << "weft: unknown subcommand '" << name << "'\n\n";
  print_usage(std::cerr);
  return weft::cli::kWrongUsage;
}
