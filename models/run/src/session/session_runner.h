#pragma once
// A compiled width class of a session: its executor and the inputs that a step writes.

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/adapters/lora.h"
#include "weft/graph/graph.h"
#include "weft/scheduler/executor.h"

namespace weft::run {

struct Runner {
  // `memory_inputs`, `encoded_inputs`: names of the inputs that SessionMemory writes, for the
  // tokens and for the encoder's output.
  Runner(const Graph& graph, const Plan& plan, const Assignment& assignment,
         const Bindings& bindings, Workers& workers, std::span<const std::string> memory_inputs,
         std::span<const std::string> encoded_inputs, std::size_t n_loras)
      : executor(graph, plan, assignment, bindings, workers),
        tokens(input(graph, "tokens")),
        pos(input(graph, "pos")),
        types(input(graph, "types")),
        out_rows(input(graph, "out_rows")),
        ends(input(graph, "ends")),
        last_encoded(input(graph, "last.encoded")),
        features(floats(graph, "features")),
        t(index_of(graph.variables(), "T")),
        o(index_of(graph.variables(), "O")) {
    for (const std::string& name : memory_inputs) memory.push_back(input(graph, name));
    for (const std::string& name : encoded_inputs)  // `memory` has the table rows
      encoded.push_back(name == "table_row" ? std::span<std::int32_t>() : input(graph, name));
    for (std::size_t i = 0; i < n_loras; ++i)
      lora_scales.push_back(floats(graph, lora_scale_name(i)));
  }

  static std::size_t index_of(const std::vector<Variable>& variables, std::string_view name) {
    const auto it = std::ranges::find(variables, name, &Variable::name);
    return static_cast<std::size_t>(it - variables.begin());
  }
  static void put(std::span<std::int32_t> where, std::size_t i, std::int64_t value) {
    if (!where.empty()) where[i] = static_cast<std::int32_t>(value);
  }
  // Empty if the graph does not use the input.
  std::span<std::int32_t> input(const Graph& graph, std::string_view path) {
    if (graph.find(path) == kNoNode) return {};
    const std::span<std::byte> bytes = executor.input(path);
    return {reinterpret_cast<std::int32_t*>(bytes.data()), bytes.size() / sizeof(std::int32_t)};
  }

  std::span<float> floats(const Graph& graph, const std::string& path) {
    if (graph.find(path) == kNoNode) return {};
    const std::span<std::byte> bytes = executor.input(path);
    return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
  }

  Executor executor;
  std::span<std::int32_t> tokens, pos, types, out_rows, ends, last_encoded;
  std::span<float> features;  // input of draft layers
  std::vector<std::span<std::int32_t>> memory, encoded;
  std::vector<std::span<float>> lora_scales;  // by LoRA, one number per token
  std::size_t t, o;                           // indices of the variables
  Extents extents{};
};

}  // namespace weft::run
