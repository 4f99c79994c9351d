// The builders against logits of another program: the graphs are evaluated by the scalar
// definitions of their ops, without backend, plan or session.

#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "model/model_impl.h"
#include "support/compare.h"
#include "support/eval.h"
#include "support/npy.h"
#include "support/reference.h"

using namespace weft;
using test::nmse;

namespace {

std::vector<float> evaluate(const Model& model, const std::vector<std::int32_t>& ids) {
  const auto n = static_cast<std::int64_t>(ids.size());
  const Model::Impl& impl = run::impl_of(model);
  const Graph graph = arch::build_graph(
      impl.source, *impl.architecture, *impl.hparams,
      {.tokens = n, .logits_rows = n, .context = 256, .cache_k = f32, .cache_v = f32});
  test::Evaluator eval(graph);
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph[id].kind != NodeKind::weight) continue;
    const CheckpointTensor& tensor = *model.file().find_tensor(graph[id].path);
    eval.bytes(graph[id].path, {tensor.data, static_cast<std::size_t>(tensor.n_bytes)});
  }
  std::vector<std::int32_t> count(ids.size());
  for (std::size_t i = 0; i < count.size(); ++i) count[i] = static_cast<std::int32_t>(i);
  eval.ints("tokens", ids).ints("pos", count).ints("cells", count).ints("out_rows", count);
  const std::vector<std::int32_t> zeros(ids.size());
  eval.ints("table", {0, 1, 2, 3}).ints("table_row", zeros).ints("first", zeros);
  return eval.run().floats("logits");
}

// Normalized squared error.
}  // namespace

TEST_CASE("graphs evaluated by definition give the golden logits") {
  const auto folder = test::reference("golden/archs");
  if (!folder) return;
  for (const std::string name :
       {"llama", "llama-spm-vocab", "llama-linear-scale", "llama-1layer-odd", "qwen2",
        "qwen2-bpe-vocab", "qwen3", "qwen3-tied"}) {
    const auto model = Model::load((*folder / (name + ".gguf")).string());
    const auto about = nlohmann::json::parse(std::ifstream(*folder / (name + ".json")));
    for (const std::string sequence : {"A", "B", "C"}) {
      CAPTURE(name);
      CAPTURE(sequence);
      const auto got = evaluate(*model, about["tokens"][sequence].get<std::vector<std::int32_t>>());
      const auto want = test::read_npy_f32(*folder / (name + "." + sequence + ".npy"));
      REQUIRE(got.size() == want.size());
      // The pass mark that comes with the data.
      CHECK(nmse(got, want) <= 1e-9);
    }
  }
}
