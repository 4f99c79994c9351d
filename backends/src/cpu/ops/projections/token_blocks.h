#pragma once
// The tokens of a step by sequence, for kernels of ops whose last four inputs are state, from,
// before and to (weft/ops/recurrent/state_rows.h).

#include <cstdint>

#include "cpu/cpu_ops.h"
#include "cpu/kernels/linear/token_block.h"

namespace weft::cpu {

class TokenBlocks {
 public:
  // The scratch memory that the constructor needs for a node of an op with a state.
  static std::int64_t scratch_bytes(const Graph& graph, const Node& node);

  // REQUIRES: `scratch` outlives it.
  TokenBlocks(Views in, std::byte* scratch);

  // The scratch memory after the part that it uses, aligned.
  std::byte* rest() const;

  // Calls each(const TokenBlock&), sequence by sequence. A block ends at a token whose state is
  // kept, so that the next one begins with that state. `from` and `to` point to float `first` of
  // their rows.
  template <class F>
  void for_each(std::int64_t first, F each) const {
    TokenBlock block{.tokens = order_};
    for (std::int64_t i = 0; i < n_tokens_; ++i) {
      const std::int32_t t = order_[i];
      ++block.n_tokens;
      if (before_[t] < 0)
        block.from = from_[t] < 0 ? nullptr : state_.row<const float>(from_[t]) + first;
      const bool ends = i + 1 == n_tokens_ || before_[order_[i + 1]] < 0;
      if (!ends && to_[t] < 0) continue;
      block.to = to_[t] < 0 ? nullptr : state_.row<float>(to_[t]) + first;
      each(static_cast<const TokenBlock&>(block));
      block = {.tokens = order_ + i + 1, .from = block.to};
    }
  }

 private:
  View state_;
  const std::int32_t *from_, *before_, *to_;
  std::int32_t* order_;  // sequence by sequence
  std::int64_t n_tokens_;
};

inline std::int64_t stride_in_floats(const View& x) {
  return x.row_stride / static_cast<std::int64_t>(sizeof(float));
}

// Runs the kernel of a recurrence on the tokens of each head of a region, sequence by sequence.
// `b` has n, p, tokens and y, as the blocks of these kernels; read(h) sets the other inputs of head
// h.
template <class Block, class Read>
void for_each_head(const KernelArgs& args, const Region& region, const TokenBlocks& blocks,
                   Block& b, void (*kernel)(const Block&) noexcept, Read read) {
  for (std::int64_t h = region.col0 / b.p; h < region.col1 / b.p; ++h) {
    read(h);
    b.y = floats(args.out, 0, h * b.p);
    blocks.for_each(h * b.n * b.p, [&](const TokenBlock& block) {
      b.tokens = block;
      kernel(b);
    });
  }
}

// The rows of a tensor [T, ..], from column `first` on.
inline TokenRows token_rows(const View& x, std::int64_t first) {
  return {floats(x, 0, first), stride_in_floats(x)};
}

}  // namespace weft::cpu
