#include <iostream>
#include <string>
#include <vector>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "weft/backends/backend.h"
#include "weft/backends/plugins.h"
#include "weft/base/error.h"
#include "weft/base/human_numbers.h"
#include "weft/run/session.h"

#include "common/flags.h"
#include "subcommand.h"

namespace weft::tools {
namespace {

using Json = nlohmann::ordered_json;

// Lists the ops of the bundled or given model that a backend runs, and those that it does not.
struct Ops {
  std::vector<std::string> runs, leaves;
};

void add(std::vector<std::string>& names, std::string_view name) {
  if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
}

Ops ops_of(const Backend& backend, const Graph& graph) {
  Ops ops;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (!node.op || node.op->storage == Storage::view) continue;
    add(backend.find(graph, node) ? ops.runs : ops.leaves, node.op->name);
  }
  return ops;
}

// The decode graph that is offered to every backend: fused, as plug-ins get it.
Graph decode_graph(const cli::ModelFlags& flags) {
  SessionOptions options = flags.session;
  options.backend = "reference";
  options.route.clear();
  options.mem_budget = INT64_MAX;
  PlannedModel planned = plan_model(*cli::load_model(flags), options);
  return std::move(planned.graphs.front());
}

std::string joined(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

struct Line {
  std::string name, description, version, path;
  std::int64_t memory_bytes = 0;
  bool host_memory = true;
  std::string error;
  Ops ops;
};

std::vector<Line> all_lines(const Graph* graph) {
  std::vector<Line> lines;
  const auto ask = [&](Line line) {
    try {
      const Backend& backend = find_backend(line.name);
      if (line.description.empty()) line.description = backend.description();
      if (graph) line.ops = ops_of(backend, *graph);
    } catch (const Error& error) {
      line.error = error.what();
    }
    lines.push_back(std::move(line));
  };
  for (const std::string_view name : built_in_backends())
    ask({.name = std::string(name), .path = "(built in)"});
  for (const PluginInfo& info : plugins()) {
    if (!info.error.empty()) lines.push_back({.path = info.path, .error = info.error});
    for (const BackendDevice& device : info.devices) {
      ask({.name = device.backend,
           .description =
               device.name + (device.description.empty() ? "" : ", ") + device.description,
           .version = info.version,
           .path = info.path,
           .memory_bytes = device.memory_bytes,
           .host_memory = device.host_memory});
    }
  }
  return lines;
}

void print_text(const std::vector<Line>& lines, bool with_ops) {
  for (const Line& line : lines) {
    if (line.name.empty()) {
      std::cout << fmt::format("cannot be used: {}\n", line.error);
      continue;
    }
    std::cout << fmt::format("{:<12} {}\n{:<12} {}{}{}\n", line.name, line.description, "",
                             line.path, line.version.empty() ? "" : ", version ", line.version);
    const std::string size =
        line.memory_bytes > 0 ? " of " + human_bytes(line.memory_bytes) : std::string();
    std::cout << fmt::format("{:<12} {}\n", "",
                             line.host_memory ? "computes in the host's memory"
                                              : fmt::format("separate memory{}", size));
    if (!line.error.empty()) std::cout << fmt::format("{:<12} error: {}\n", "", line.error);
    if (with_ops && line.error.empty()) {
      std::cout << fmt::format("{:<12} runs {}\n", "", joined(line.ops.runs));
      if (!line.ops.leaves.empty())
        std::cout << fmt::format("{:<12} does not run {}\n", "", joined(line.ops.leaves));
    }
  }
}

void print_json(const std::vector<Line>& lines) {
  Json all = Json::array();
  for (const Line& line : lines) {
    all.push_back({{"name", line.name},
                   {"description", line.description},
                   {"version", line.version},
                   {"path", line.path},
                   {"host_memory", line.host_memory},
                   {"memory_bytes", line.memory_bytes},
                   {"runs", line.ops.runs},
                   {"leaves", line.ops.leaves},
                   {"error", line.error}});
  }
  std::cout << all.dump(1) << '\n';
}

int backends(int argc, char** argv) {
  cli::App app("Lists backends: name, device, where it comes from, which ops of a model it runs.",
               "weft backends");
  cli::ModelFlags flags;
  bool json = false;
  cli::add_model_flags(app, flags);
  app.add_flag("--json", json, "print the list as JSON");
  app.footer(
      "Examples:\n"
      "  weft backends --backend-path build/release/plugins\n"
      "  WEFT_BACKEND_PATH=/opt/weft/backends weft backends -m model.gguf");
  if (const auto code = parse_flags(app, argc, argv)) return *code;
  std::optional<Graph> graph;
  if (!flags.path.empty()) graph = decode_graph(flags);
  const std::vector<Line> lines = all_lines(graph ? &*graph : nullptr);
  json ? print_json(lines) : print_text(lines, graph.has_value());
  return 0;
}

}  // namespace

const Subcommand kBackends{"backends", "available backends, built in and loaded, and their devices",
                           backends};

}  // namespace weft::tools
