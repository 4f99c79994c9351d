#include "weft/scheduler/verify.h"

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "weft/graph/error.h"
#include "weft/models/session.h"
#include "weft/models/tokenizer.h"

#include "common/flags.h"
#include "subcommand.h"
#include "token_list.h"

namespace weft::tools {
namespace {

std::vector<std::int32_t> tokens_of(const Model& model, const std::string& prompt) {
  if (model.has_tokenizer()) return model.tokenizer().encode(prompt);
  std::vector<std::int32_t> ids;
  for (std::int32_t id = 0; id < 8; ++id)
    ids.push_back(static_cast<std::int32_t>(id % model.facts().n_vocab));
  return ids;
}

struct Checked {
  std::string plan;
  VerifyReport report;
};

// One step with every node checked. The plan is the narrowest one that holds the tokens.
Checked check_step(Session& session, std::span<const std::int32_t> tokens) {
  std::vector<StepToken> step;
  for (const std::int32_t token : tokens) step.push_back({.token = token});
  step.back().logits = true;
  for (std::size_t i = 0; i < session.n_plans(); ++i) {
    const Plan& plan = session.plan(i);
    const auto bound = std::ranges::find(plan.variables, "T", &Variable::name);
    const bool holds = bound == plan.variables.end()
                           ? step.size() == 1
                           : bound->bound >= static_cast<std::int64_t>(step.size());
    if (!holds) continue;
    Verifier verifier(session.graph(i), plan);
    session.step(step, nullptr, &verifier);
    return {plan.name, verifier.report()};
  }
  fail<ValueError>("{} tokens are more than one step takes (-b {})", step.size(),
                   session.options().prefill_width);
}

void print_text(const std::vector<Checked>& all) {
  for (const Checked& checked : all)
    std::cout << "plan " << checked.plan << '\n' << checked.report.to_text() << '\n';
}

void print_json(const std::vector<Checked>& all) {
  std::string text;
  for (const Checked& checked : all) {
    text += fmt::format("{}\n{{\"plan\": \"{}\", \"report\": {}}}", text.empty() ? "" : ",",
                        checked.plan, checked.report.to_json());
  }
  std::cout << '[' << text << "\n]\n";
}

}  // namespace

int verify(int argc, char** argv) {
  CLI::App app(
      "Runs a model node by node and compares each node with its scalar definition, computed from "
      "the very same inputs. Exit code 1 where one is past its tolerance.",
      "weft verify");
  cli::ModelFlags flags;
  std::string prompt = "Once upon a time";
  std::string tokens;
  bool json = false;
  cli::add_model_flags(app, flags);
  auto* prompt_flag = app.add_option("-p,--prompt", prompt, "the text to run");
  auto* tokens_flag =
      app.add_option("--tokens", tokens, "the token ids to run, with commas between them")
          ->excludes(prompt_flag);
  app.add_flag("--json", json, "print the reports as JSON");
  app.footer(
      "All tokens but the last go through a prefill plan, the last one through the decode plan.\n"
      "Examples:\n"
      "  weft verify -m model.gguf\n"
      "  weft verify -m model.gguf --tokens 1,2,3 --backend cpu --json");
  if (const auto code = parse_flags(app, argc, argv)) return *code;

  const auto model = cli::load_model(flags);
  const std::vector<std::int32_t> ids =
      tokens_flag->count() > 0 ? parse_list("--tokens", tokens) : tokens_of(*model, prompt);
  if (ids.empty()) fail<ValueError>("there are no tokens to run");
  // Values are looked at after the step: they keep their memory, and one lane computes them all.
  flags.session.reuse_arena = false;
  flags.session.workers = 1;
  Session session(model, flags.session);
  const std::span<const std::int32_t> all = ids;
  std::vector<Checked> checked;
  if (all.size() > 1) checked.push_back(check_step(session, all.first(all.size() - 1)));
  checked.push_back(check_step(session, all.last(1)));

  json ? print_json(checked) : print_text(checked);
  const bool passed = std::ranges::all_of(
      checked, [](const Checked& c) { return c.report.first_bad() == nullptr; });
  return passed ? 0 : 1;
}

}  // namespace weft::tools
