#include "cpu/ops/projections/token_blocks.h"

#include <algorithm>

#include "weft/backends/memory.h"

namespace weft::cpu {

namespace {

std::int64_t bytes_for(std::int64_t n_tokens) {
  return align_up(2 * n_tokens * static_cast<std::int64_t>(sizeof(std::int32_t)));
}

}  // namespace

std::int64_t TokenBlocks::scratch_bytes(const Graph& graph, const Node& node) {
  return bytes_for(graph[node.inputs.back()].spec.shape[0].bound);
}

std::byte* TokenBlocks::rest() const {
  return reinterpret_cast<std::byte*>(order_) + bytes_for(n_tokens_);
}

TokenBlocks::TokenBlocks(Views in, std::byte* scratch)
    : state_(in[in.size() - 4]),
      from_(in[in.size() - 3].row<const std::int32_t>(0)),
      before_(in[in.size() - 2].row<const std::int32_t>(0)),
      to_(in[in.size() - 1].row<const std::int32_t>(0)),
      order_(reinterpret_cast<std::int32_t*>(scratch)),
      n_tokens_(in[in.size() - 1].dim(0)) {
  std::int32_t* const next = order_ + n_tokens_;
  std::fill_n(next, n_tokens_, -1);
  for (std::int32_t t = 0; t < n_tokens_; ++t) {
    if (before_[t] >= 0) next[before_[t]] = t;
  }
  std::int32_t* end = order_;
  for (std::int32_t first = 0; first < n_tokens_; ++first) {
    if (before_[first] >= 0) continue;
    for (std::int32_t t = first; t >= 0; t = next[t]) *end++ = t;
  }
}

}  // namespace weft::cpu
