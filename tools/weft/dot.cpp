#include "weft/graph/dot.h"

#include <charconv>
#include <filesystem>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "weft/backends/backend.h"
#include "weft/graph/error.h"
#include "weft/models/output_file.h"
#include "weft/models/session.h"
#include "weft/scheduler/passes.h"
#include "weft/scheduler/planner.h"

#include "common/flags.h"
#include "graphviz.h"
#include "subcommand.h"

namespace weft::tools {
namespace {

struct Flags {
  cli::ModelFlags model;
  std::string out, layers, heat, phase = "decode";
  bool no_fold = false, passes = false;
};

// The graph as the builder made it: no pass, no limit on memory, nothing allocated.
Graph plain_graph(const Model& model, SessionOptions options, const std::string& phase) {
  options.backend = "reference";
  options.passes_off = {"all"};
  options.mem_budget = std::numeric_limits<std::int64_t>::max();
  PlannedModel planned = plan_model(model, options);
  return std::move(phase == "prefill" ? planned.graphs.back() : planned.graphs.front());
}

std::int64_t count_ops(const Graph& graph) {
  std::int64_t n = 0;
  for (NodeId id = 0; id < graph.size(); ++id) n += graph[id].kind == NodeKind::op;
  return n;
}

// A line per pass: what it is called, how many ops there are after it, what it does.
void print_passes(const Graph& plain, const Backend& backend, const PassOptions& options) {
  std::cout << fmt::format("{:<24} {:>6}  {}\n", "pass", "ops", "does");
  const auto seen = [](const Pass* pass, const Graph& graph, void*) {
    std::cout << fmt::format("{:<24} {:>6}  {}\n", pass ? pass->name : "(as built)",
                             count_ops(graph), pass ? pass->summary : "");
  };
  optimize(plain, backend, options, seen, nullptr);
}

// "3" or "0-1", of n_layers.
void read_layers(const std::string& text, std::int64_t n_layers, DotOptions& options) {
  if (text.empty()) return;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, options.first_layer);
  options.last_layer = options.first_layer;
  auto rest = first;
  if (first.ec == std::errc() && first.ptr != end && *first.ptr == '-')
    rest = std::from_chars(first.ptr + 1, end, options.last_layer);
  if (rest.ec != std::errc() || rest.ptr != end || options.first_layer < 0 ||
      options.last_layer < options.first_layer) {
    fail<cli::UsageError>("--layers must be a number or FIRST-LAST, got '{}'", printable(text));
  }
  if (options.last_layer >= n_layers) {
    fail<cli::UsageError>("--layers {}: the model has layers 0-{}", text, n_layers - 1);
  }
}

// How many bytes each op moves, as a share of the hottest one.
std::vector<DotNote> byte_notes(const Graph& graph, const Backend& backend) {
  const Plan plan = make_plan(graph, backend, {.name = "dot", .lanes = 1});
  const auto bytes_of = [](const Cost& cost) { return cost.bytes_read + cost.bytes_written; };
  std::int64_t most = 1;
  for (const PlanStep& step : plan.steps) most = std::max(most, bytes_of(step.cost));
  const double all = static_cast<double>(std::max<std::int64_t>(1, bytes_of(plan.cost())));
  std::vector<DotNote> notes(static_cast<std::size_t>(graph.size()));
  for (const PlanStep& step : plan.steps) {
    const auto bytes = static_cast<double>(bytes_of(step.cost));
    notes[static_cast<std::size_t>(step.node)] = {
        .text = fmt::format("{}, {:.1f} % of all bytes", human_bytes(bytes_of(step.cost)),
                            100 * bytes / all),
        .heat = bytes / static_cast<double>(most)};
  }
  return notes;
}

void write_picture(const std::string& path, const std::string& text) {
  if (path.empty() || path == "-") {
    std::cout << text;
    return;
  }
  const std::string extension = std::filesystem::path(path).extension().string();
  const bool as_text = extension.empty() || extension == ".dot" || extension == ".gv";
  const std::string picture = as_text ? text : draw(text, extension.substr(1));
  OutputFile file(path);
  file.write(picture);
  file.commit();
}

}  // namespace

int dot(int argc, char** argv) {
  CLI::App app("Draws the graph of a model. Layers that are alike are drawn once.", "weft dot");
  Flags flags;
  cli::add_model_flags(app, flags.model);
  app.add_option("-o,--output", flags.out,
                 "FILE.dot, or FILE.svg, FILE.png, ... drawn by Graphviz; default: text on stdout")
      ->type_name("FILE");
  app.add_option("--layers", flags.layers, "show only these layers, for example 0-1")
      ->type_name("A-B");
  app.add_flag("--no-fold,!--fold", flags.no_fold, "draw layers that are alike one by one");
  app.add_option("--phase", flags.phase, "decode (one token) or prefill (many)")
      ->check(CLI::IsMember({"decode", "prefill"}));
  app.add_option("--heat", flags.heat, "colour ops by the bytes they move")
      ->check(CLI::IsMember({"bytes"}));
  app.add_flag("--passes", flags.passes,
               "no picture: list the graph passes with the number of ops after each");
  app.footer(
      "Examples:\n"
      "  weft dot -m model.gguf -o model.svg\n"
      "  weft dot -m model.gguf --layers 0 --no-pass all -o as_built.svg\n"
      "  weft dot -m model.gguf --passes");
  if (const auto code = parse_flags(app, argc, argv)) return *code;

  const auto model = cli::load_model(flags.model);
  const Backend& backend = find_backend(flags.model.session.backend);
  const PassOptions passes{.off = flags.model.session.passes_off,
                           .resident = flags.model.session.weights != WeightMode::mapped};
  const Graph plain = plain_graph(*model, flags.model.session, flags.phase);
  if (flags.passes) {
    print_passes(plain, backend, passes);
    return 0;
  }
  const Graph graph = optimize(plain, backend, passes);
  DotOptions options{.title = fmt::format("{} ({}), {}", model->facts().name,
                                          model->facts().architecture, flags.phase),
                     .fold = !flags.no_fold};
  read_layers(flags.layers, model->facts().n_layers, options);
  if (!flags.heat.empty()) options.notes = byte_notes(graph, backend);
  write_picture(flags.out, to_dot(graph, options));
  return 0;
}

}  // namespace weft::tools
