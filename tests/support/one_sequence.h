#pragma once
// For graphs of models in tests: the inputs of a step that has all tokens of one text, whose memory
// is empty before it.

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string_view>
#include <vector>

#include "weft/graph/graph.h"

#include "support/eval.h"

namespace weft::test {

// Sets the extents and all inputs but "features", with `n` tokens that all need logits. REQUIRES:
// memory of tokens, in blocks or windows, and recurrent states; the blocks that n tokens need.
inline void set_one_sequence(Evaluator& eval, const Graph& graph,
                             const std::vector<std::int32_t>& tokens) {
  const auto n = static_cast<std::int32_t>(tokens.size());
  eval.extent("T", n).extent("O", n);
  const auto per_token = [&](const std::function<std::int32_t(std::int32_t)>& value) {
    std::vector<std::int32_t> values;
    for (std::int32_t t = 0; t < n; ++t) values.push_back(value(t));
    return values;
  };
  for (NodeId id = 0; id < graph.size(); ++id) {
    const std::string_view name = graph[id].path;
    if (graph[id].kind != NodeKind::input || name == "features") continue;
    if (name == "tokens") {
      eval.ints(name, tokens);
    } else if (name.starts_with("table") && name != "table_row") {
      std::vector<std::int32_t> blocks(static_cast<std::size_t>(eval.view(id).dim(1)));
      std::iota(blocks.begin(), blocks.end(), 0);
      eval.ints(name, blocks);
    } else if (name.starts_with("first.w")) {
      std::int32_t window = 0;
      std::from_chars(name.data() + 7, name.data() + name.size(), window);
      eval.ints(name, per_token([&](auto t) { return std::max(0, t - window + 1); }));
    } else if (name == "first" || name == "table_row") {
      eval.ints(name, per_token([](auto) { return 0; }));
    } else if (name == "rows_from" || name == "rows_to") {
      eval.ints(name, per_token([](auto) { return -1; }));
    } else if (name == "before") {
      eval.ints(name, per_token([](auto t) { return t - 1; }));
    } else {  // positions and what equals them
      eval.ints(name, per_token([](auto t) { return t; }));
    }
  }
}

}  // namespace weft::test
