#pragma once
// For graphs in tests, everything that an executor needs: weights with random values, zeroed
// states, arena and scratch.

#include <cstring>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "weft/backends/memory.h"
#include "weft/base/error.h"
#include "weft/ops/formats/format.h"
#include "weft/scheduler/executor.h"
#include "weft/scheduler/planner.h"

namespace weft::test {

// Values for weights and states by path, so that graphs before and after a pass can share them.
class Memory {
 public:
  const std::byte* weight(const Node& node) {
    auto [it, fresh] = buffers_.try_emplace(node.path, node.spec.bytes());
    if (fresh) fill(node, it->second);
    return it->second.data();
  }
  std::byte* state(const Node& node) {
    return buffers_.try_emplace(node.path, node.spec.bytes()).first->second.data();
  }
  void clear_states(const Graph& graph) {
    for (NodeId id = 0; id < graph.size(); ++id) {
      if (graph[id].kind == NodeKind::state) buffers_.erase(graph[id].path);
    }
  }

 private:
  static void fill(const Node& node, const Buffer& buffer) {
    std::mt19937 random(static_cast<std::uint32_t>(std::hash<std::string>{}(node.path)));
    std::uniform_real_distribution<float> uniform(-0.5f, 0.5f);
    std::vector<float> values(static_cast<std::size_t>(node.spec.shape.elems()));
    for (float& v : values) v = uniform(random);
    const Format* format = find_format(node.spec.dtype);
    if (!format || !format->encode) fail<UnsupportedError>("no random {}", node.spec.dtype.name());
    format->encode(values.data(), buffer.data(), std::ssize(values));
  }

  std::map<std::string, Buffer> buffers_;
};

struct TestSession {
  const Graph& graph;
  Plan plan;
  Buffer arena, scratch;
  Executor executor;

  TestSession(const Graph& g, const Assignment& backend, const PlanOptions& options, Memory& memory,
              Workers& workers)
      : TestSession(g, make_plan(g, backend, options), backend, memory, workers) {}
  TestSession(const Graph& g, Plan made, const Assignment& backend, Memory& memory,
              Workers& workers, const ExecutorOptions& executor_options = {})
      : graph(g),
        plan(std::move(made)),
        arena(std::max<std::int64_t>(plan.arena_bytes, 1)),
        scratch(std::max<std::int64_t>(plan.scratch_bytes, 1)),
        executor(g, plan, backend,
                 {.weight = [&memory](const Node& n) { return memory.weight(n); },
                  .state = [&memory](const Node& n) { return memory.state(n); },
                  .arena = arena.bytes(),
                  .scratch = scratch.bytes()},
                 workers, executor_options) {}

  void set(std::string_view input, const std::vector<std::int32_t>& values) {
    const auto bytes = executor.input(input);
    if (values.size() * 4 > bytes.size()) fail<ValueError>("too many values for '{}'", input);
    std::memcpy(bytes.data(), values.data(), values.size() * 4);
  }

  std::vector<float> floats(std::string_view output) const {
    const View v = executor.output(output);
    std::vector<float> out;
    for (std::int64_t r = 0; r < v.rows(); ++r)
      out.insert(out.end(), v.row<float>(r), v.row<float>(r) + v.cols());
    return out;
  }
};

// Runs `tokens` of one sequence that has `past` cells already, in one step, and returns the logits
// of all of them. For toy_llama.
inline std::vector<float> step(TestSession& s, const std::vector<std::int32_t>& tokens,
                               std::int32_t past, const std::atomic<bool>* cancel = nullptr,
                               NodeObserver* observer = nullptr) {
  std::vector<std::int32_t> pos, zeros(tokens.size()), rows;
  for (std::int32_t i = 0; i < std::ssize(tokens); ++i) pos.push_back(past + i), rows.push_back(i);
  s.set("tokens", tokens);
  for (const char* name : {"pos", "cells", "last"}) s.set(name, pos);
  for (const char* name : {"table_row", "first"}) s.set(name, zeros);
  std::vector<std::int32_t> table(s.executor.input("table").size() / sizeof(std::int32_t));
  std::iota(table.begin(), table.end(), 0);
  s.set("table", table);
  s.set("out_rows", rows);
  Extents extents{};
  extents[0] = extents[1] = std::ssize(tokens);
  s.executor.run(extents, {.cancel = cancel, .observer = observer});
  return s.floats("logits");
}

}  // namespace weft::test
