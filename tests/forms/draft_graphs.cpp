// Computes the graph of a model's steps and that of its first draft layer, or
// of a head in another file, with the definitions of
// ops. Writes to stdout, as float32: the features of all tokens, then the draft layer's logits and
// features for all tokens but the first.
//
// Usage: draft_graphs MODEL ID,ID,... [HEAD]

#include <cstdint>
#include <cstdio>
#include <exception>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "weft/run/model.h"

#include "model/model_impl.h"
#include "support/eval.h"
#include "support/one_sequence.h"

using namespace weft;

namespace {

void write(const std::vector<float>& values) {
  std::fwrite(values.data(), sizeof(float), values.size(), stdout);
}

// The outputs of a graph of the model: logits and features.
std::pair<std::vector<float>, std::vector<float>> outputs_of(
    const Model& model, arch::GraphPart part, const std::vector<std::int32_t>& tokens,
    const std::vector<float>& features) {
  const auto n = static_cast<std::int64_t>(tokens.size());
  const Graph graph = run::impl_of(model)
                          .graph({.tokens = n,
                                  .logits_rows = n,
                                  .context = n,
                                  .cache_k = f32,
                                  .cache_v = f32,
                                  .part = part,
                                  .features = true})
                          .graph;
  check(graph);
  test::Evaluator eval(graph);
  test::set_one_sequence(eval, graph, tokens);
  if (part == arch::GraphPart::draft) eval.floats("features", features);
  for (const CheckpointTensor& tensor : model.weights().tensors()) {
    if (graph.find(tensor.name) != kNoNode)
      eval.bytes(std::string(tensor.name), {tensor.data, static_cast<std::size_t>(tensor.n_bytes)});
  }
  eval.run();
  return {eval.floats(graph[graph.outputs()[0].node].path),
          eval.floats(graph[graph.outputs()[1].node].path)};
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3 && argc != 4) return 2;
  std::vector<std::int32_t> ids;
  std::istringstream text(argv[2]);
  for (std::string id; std::getline(text, id, ',');) ids.push_back(std::stoi(id));
  ModelOptions options;
  if (argc == 4) options.draft_file = argv[3];
  const auto model = Model::load(argv[1], options);
  std::vector<float> features = outputs_of(*model, arch::GraphPart::steps, ids, {}).second;
  write(features);
  features.resize(features.size() - features.size() / ids.size());
  ids.erase(ids.begin());
  const auto [logits, next] = outputs_of(*model, arch::GraphPart::draft, ids, features);
  write(logits);
  write(next);
  return 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "{}\n", e.what());
  return 1;
}
