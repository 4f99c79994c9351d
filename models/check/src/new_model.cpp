#include "weft/check/new_model.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

#include "weft/arch/made_source.h"
#include "weft/backends/backend.h"
#include "weft/base/error.h"
#include "weft/base/read_file.h"
#include "weft/check/verify_model.h"
#include "weft/draw/dot.h"
#include "weft/files/checkpoint.h"
#include "weft/files/gguf_writer.h"
#include "weft/files/made_model.h"
#include "weft/files/output_file.h"
#include "weft/ops/attention/cache_cells.h"
#include "weft/ops/formats/q4_k.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/scheduler/planner.h"

#include "sanity.h"

namespace weft {
namespace {

using namespace checks;

constexpr arch::MadeSizes kSizes{.D = 256, .H = 8, .G = 2, .F = 512, .V = 96, .context = 128};
constexpr arch::GraphOptions kWide{.tokens = 8, .logits_rows = 8, .context = 64};

// A file that is removed at the end; a model that was loaded from it keeps its mapping.
struct TemporaryFile {
  TemporaryFile() {
    static std::atomic<int> n_made{0};
    path = (std::filesystem::temp_directory_path() /
            fmt::format("weft-new-model-{}-{}.gguf", getpid(), n_made++))
               .string();
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
  std::string path;
};

class NewModelChecks {
 public:
  NewModelChecks(const arch::Architecture& architecture, const NewModelOptions& options)
      : architecture_(architecture), options_(options) {}

  SelfReport run();

 private:
  // Matrices whose rows are whole blocks are of type `matrices`.
  arch::MadeSource made(DType matrices, bool optional) const {
    arch::MadeSource source(std::string(architecture_.name), kSizes);
    for (const auto& [key, value] : options_.keys) source.keys[key] = value;
    source.type_of = arch::matrices_of(matrices);
    source.optional_tensors = optional;
    source.learn(architecture_);
    return source;
  }
  Graph graph_of(const arch::MadeSource& source, const arch::GraphOptions& options) const {
    Graph graph =
        arch::build_graph(source, architecture_, *configure(source, architecture_), options);
    weft::check(graph);
    return graph;
  }
  std::shared_ptr<const Model> load(DType matrices, bool optional) const {
    const TemporaryFile file;
    write_made_model(made(matrices, optional), file.path);
    return Model::load(file.path);
  }
  void check(const std::string& name, const std::function<std::string()>& f) {
    if (options_.progress) options_.progress(name);
    report_.checks.push_back(run_check(name, f));
  }

  ModelVerification verify(const std::shared_ptr<const Model>& model,
                           SessionOptions session) const {
    session.cancel = options_.cancel;
    return verify_model(model, {.session = session, .tokens = ids_});
  }

  std::string shapes(bool optional) const;
  std::string round_trip() const;
  std::string passes() const;
  std::string nodes(DType matrices) const;
  std::string caches() const;
  std::string plans() const;
  std::string snapshot() const;

  const arch::Architecture& architecture_;
  const NewModelOptions& options_;
  SelfReport report_;
  std::shared_ptr<const Model> model_;  // in Q8_0
  const std::vector<std::int32_t> ids_ = {7, 3, 11, 3, 42, 9, 1, 95};
};

std::string NewModelChecks::shapes(bool optional) const {
  const arch::MadeSource source = made(f32, optional);
  const arch::Config config = configure(source, architecture_);
  const arch::Hparams& c = *config;
  std::size_t n_weights = 0, n_ops = 0;
  for (arch::GraphOptions options : {kWide, arch::GraphOptions{}, kWide}) {
    options.embeddings = n_ops > 0 && options.tokens > 1;  // the last one
    const Graph graph = graph_of(source, options);
    if (options.embeddings) break;
    const auto users = graph.users();
    n_weights = n_ops = 0;
    for (NodeId id = 0; id < graph.size(); ++id) {
      n_weights += graph[id].kind == NodeKind::weight;
      n_ops += graph[id].kind == NodeKind::op;
      if (graph[id].kind == NodeKind::weight && users[id].empty())
        throw Failed{fmt::format("weight '{}' is declared and not used ({})", graph[id].path,
                                 to_string(graph[id].where))};
    }
  }
  return fmt::format("{} ops, {} weights, logits [O, {}], embeddings [O, {}]", n_ops, n_weights,
                     c.V, c.D);
}

// Writes, reads and writes the file again: the bytes must be the same.
std::string NewModelChecks::round_trip() const {
  const TemporaryFile first, second;
  write_made_model(made(q8_0, false), first.path);
  const Checkpoint file = Checkpoint::open(first.path);
  GgufWriter writer;
  for (const MetaEntry& entry : file.metadata()) writer.add(entry.key, entry.value);
  for (const CheckpointTensor& tensor : file.tensors()) {
    writer.add_tensor(std::string(tensor.name), tensor.spec,
                      {tensor.data, static_cast<std::size_t>(tensor.n_bytes)});
  }
  writer.write(second.path);
  const std::string a = read_file(first.path), b = read_file(second.path);
  if (a != b) throw Failed{"a file written from what was read differs from the file read"};
  const auto loaded = Model::load(second.path);
  return fmt::format("{} keys, {} tensors, {} bytes", file.metadata().size(), file.tensors().size(),
                     loaded->file().file_bytes());
}

// With definitions as kernels, passes that only rewrite must not change the result.
std::string NewModelChecks::passes() const {
  const auto model = load(f32, true);
  const ModelVerification result =
      verify(model, {.backend = "reference", .cache_k = f32, .cache_v = f32});
  if (!(result.nmse_from_plain <= kRewriteLimit))
    throw Failed{
        fmt::format("logits with passes have a normalized squared error of {:.3g} from "
                    "those without",
                    result.nmse_from_plain)};
  return fmt::format("normalized squared error {:.2g} of the logits", result.nmse_from_plain);
}

// Every instruction set, with and without passes.
std::string NewModelChecks::nodes(DType matrices) const {
  const auto model = load(matrices, true);
  std::size_t n_nodes = 0;
  double ratio = 0, error = 0;
  for (const std::string_view isa : cpu_isas()) {
    for (const bool fused : {true, false}) {
      SessionOptions session{.backend = "cpu:" + std::string(isa)};
      if (!fused) session.passes_off = {"all"};
      const ModelVerification result = verify(model, session);
      for (const VerifiedStep& step : result.steps) {
        n_nodes += step.report.nodes.size();
        for (const NodeCheck& n : step.report.nodes) ratio = std::max(ratio, n.worst_ratio);
      }
      error = std::max(error, result.nmse_from_plain);
      if (const NodeCheck* bad = result.first_bad())
        throw Failed{fmt::format("{}{}: {} '{}', {:.3g} times the bound ({})", isa,
                                 fused ? "" : ", no passes", bad->op, bad->path, bad->worst_ratio,
                                 bad->where)};
      if (!result.stopped.empty()) throw Failed{fmt::format("{}: {}", isa, result.stopped)};
    }
  }
  return fmt::format("{} instruction sets, {} nodes, at most {:.2g} of the bound; logits {:.2g}",
                     cpu_isas().size(), n_nodes, ratio, error);
}

std::string NewModelChecks::caches() const {
  for (const DType type : cache_types()) {
    const ModelVerification result = verify(model_, {.cache_k = type, .cache_v = type});
    if (const NodeCheck* bad = result.first_bad())
      throw Failed{
          fmt::format("cache {}: {} '{}' ({})", type.name(), bad->op, bad->path, bad->where)};
  }
  return cache_type_names();
}

std::string NewModelChecks::plans() const {
  std::size_t n_plans = 0;
  for (const int workers : {1, 2}) {
    const PlannedModel planned = plan_model(*model_, {.workers = workers});
    for (std::size_t i = 0; i < planned.plans.size(); ++i)
      weft::check(planned.plans[i], planned.graphs[i]);
    n_plans += planned.plans.size();
  }
  return fmt::format(
      "{} plans checked; {}", n_plans,
      check_memory(model_, {.context = 64, .workers = 1, .cancel = options_.cancel}, ids_));
}

std::string NewModelChecks::snapshot() const {
  if (options_.snapshot.empty()) throw Skipped{"no file was named"};
  const arch::MadeSource source = made(f32, false);
  const std::string dot =
      draw::to_dot(graph_of(source, kWide), {.title = std::string(architecture_.name)});
  std::error_code ignored;
  if (!std::filesystem::exists(options_.snapshot, ignored)) {
    OutputFile file(options_.snapshot);
    file.write(dot);
    file.commit();
    return "written to " + options_.snapshot;
  }
  const std::string before = read_file(options_.snapshot);
  if (before == dot) return "as in " + options_.snapshot;
  const auto at = std::ranges::mismatch(before, dot).in1 - before.begin();
  const auto line = 1 + std::count(before.begin(), before.begin() + at, '\n');
  throw Failed{
      fmt::format("the graph differs from line {} of {}; remove the file if the change is intended",
                  line, options_.snapshot)};
}

SelfReport NewModelChecks::run() {
  report_.about =
      fmt::format("new model: {}, a tiny one with random weights\n", architecture_.name);
  check("graph", [&] { return shapes(false); });
  check("graph, optional tensors", [&] { return shapes(true); });
  if (!report_.passed()) return std::move(report_);  // nothing to run
  check("GGUF round trip", [&] { return round_trip(); });
  check("passes = plain", [&] { return passes(); });
  for (const DType type : {f32, q8_0, q4_k})
    check(fmt::format("nodes, {}", type.name()), [&] { return nodes(type); });
  check("cache types", [&] {
    model_ = load(q8_0, false);
    return caches();
  });
  if (!model_) return std::move(report_);
  check("plans and memory", [&] { return plans(); });
  const SelftestOptions options{
      .session = {.cancel = options_.cancel}, .tokens = {}, .progress = options_.progress};
  for (SelfCheck& c : check_sessions(model_, options)) report_.checks.push_back(std::move(c));
  check("snapshot", [&] { return snapshot(); });
  return std::move(report_);
}

}  // namespace

SelfReport check_new_model(const std::string& architecture, const NewModelOptions& options) {
  const arch::MadeSource named(architecture);
  return NewModelChecks(arch::find_architecture(named), options).run();
}

}  // namespace weft
