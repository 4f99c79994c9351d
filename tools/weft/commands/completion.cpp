#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "completion_scripts.h"
#include "subcommand.h"

namespace weft::tools {
namespace {

int completion(int argc, char** argv) {
  cli::App app("Prints a script that completes the flags of weft, generate and chat in a shell.",
               "weft completion");
  std::string shell;
  std::vector<std::string> names;
  for (const CompletionScript& script : kCompletionScripts) names.emplace_back(script.shell);
  app.add_option("SHELL", shell, "name of the shell").one_of(names).required();
  app.footer(
      "Examples:\n"
      "  source <(weft completion bash)                       # in ~/.bashrc\n"
      "  source <(weft completion zsh)                        # in ~/.zshrc, after compinit\n"
      "  weft completion fish | source                        # in ~/.config/fish/config.fish");
  if (const auto code = parse_flags(app, argc, argv)) return *code;
  std::cout << std::ranges::find(kCompletionScripts, shell, &CompletionScript::shell)->text;
  return 0;
}

}  // namespace

const Subcommand kCompletion{"completion", "prints a script for completion in bash, zsh or fish",
                             completion};

}  // namespace weft::tools
