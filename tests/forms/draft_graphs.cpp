// Computes the graph of a model's steps and that of its first draft layer with the definitions of
// ops. Writes to stdout, as float32: the features of all tokens, then the draft layer's logits and
// features for all tokens but the first.
//
// Usage: draft_graphs MODEL ID,ID,...

#include <cstdint>
#include <cstdio>
#include <exception>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "weft/arch/builder.h"
#include "weft/files/checkpoint.h"

#include "checkpoint_source.h"
#include "support/eval.h"
#include "support/one_sequence.h"

using namespace weft;

namespace {

void write(const std::vector<float>& values) {
  std::fwrite(values.data(), sizeof(float), values.size(), stdout);
}

class Graphs {
 public:
  explicit Graphs(const std::string& path)
      : source_(Checkpoint::open(path)),
        architecture_(arch::find_architecture(source_)),
        config_(configure(source_, architecture_)) {}

  // The outputs of a graph: logits and features.
  std::pair<std::vector<float>, std::vector<float>> run(arch::GraphPart part,
                                                        const std::vector<std::int32_t>& tokens,
                                                        const std::vector<float>& features) const {
    const auto n = static_cast<std::int64_t>(tokens.size());
    const Graph graph = build_graph(source_, architecture_, *config_,
                                    {.tokens = n,
                                     .logits_rows = n,
                                     .context = n,
                                     .cache_k = f32,
                                     .cache_v = f32,
                                     .part = part,
                                     .features = true});
    check(graph);
    test::Evaluator eval(graph);
    test::set_one_sequence(eval, graph, tokens);
    if (part == arch::GraphPart::draft) eval.floats("features", features);
    for (const CheckpointTensor& tensor : source_.checkpoint().tensors()) {
      if (graph.find(tensor.name) != kNoNode)
        eval.bytes(tensor.name, {tensor.data, static_cast<std::size_t>(tensor.n_bytes)});
    }
    eval.run();
    return {eval.floats(graph[graph.outputs()[0].node].path),
            eval.floats(graph[graph.outputs()[1].node].path)};
  }

  std::int64_t width() const { return config_->D; }

 private:
  ::weft::run::CheckpointSource source_;
  const arch::Architecture& architecture_;
  const arch::Config config_;
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) return 2;
  std::vector<std::int32_t> ids;
  std::istringstream text(argv[2]);
  for (std::string id; std::getline(text, id, ',');) ids.push_back(std::stoi(id));
  const Graphs graphs(argv[1]);
  std::vector<float> features = graphs.run(arch::GraphPart::steps, ids, {}).second;
  write(features);
  features.resize(features.size() - static_cast<std::size_t>(graphs.width()));
  ids.erase(ids.begin());
  const auto [logits, next] = graphs.run(arch::GraphPart::draft, ids, features);
  write(logits);
  write(next);
  return 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "{}\n", e.what());
  return 1;
}
