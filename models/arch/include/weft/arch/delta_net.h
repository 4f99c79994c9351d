#pragma once
// Delta nets: linear attention whose memory, a matrix S [N, P] for every head, fades, and replaces
// what it holds under a key instead of adding to it:
//   S = decay S + beta k (v - (decay S)^T k)^T,     y = S^T q / sqrt(N)
// with q and k of length 1. The decay is one factor per head (gated delta net) or one per element
// of the key (KDA).
// Sources: Yang et al. 2024, arXiv:2412.06464; Kimi Team 2025, arXiv:2510.26692.

#include <functional>

#include "weft/arch/blocks.h"

namespace weft::arch {

// short_convolution() of x [T, C] with NAME.weight [C, taps].
Tensor convolve(const Layer& l, std::string_view name, std::int64_t taps, Tensor x);

// What a token contributes to the memory, and reads from it.
struct DeltaStep {
  Tensor q, k;   // [T, H, N], of any length
  Tensor v;      // [T, H, P]
  Tensor decay;  // [T, H] or [T, H, N], from 0 to 1
  Tensor beta;   // [T, H]
};
// y [T, H, P]. Keeps S of each sequence as its state.
Tensor delta_attention(const Layer& l, const DeltaStep& step);

// KDA as a block: convolutions of q, k and v, a decay per element of the key, an output that is
// normalized by head and gated by a sigmoid.
struct ChannelDeltaNet {
  std::int64_t N = 0;     // elements of a head
  std::int64_t taps = 0;  // width of the convolutions
  // The logarithm of the decay, of a projection z [T, H, N] of x and the tensor ssm_a [H, 1].
  std::function<Tensor(Tensor z, Tensor a)> log_decay;

  Tensor operator()(const Layer& l, Tensor x) const;  // [T, D] -> [T, D]
};
// Reads kda.head_dim and ssm.conv_kernel. Throws as Keys does.
ChannelDeltaNet read_channel_delta_net(const Keys& keys);

// The number of taps of a short convolution, 2 or more. Throws FormatError if the key is absent.
std::int64_t read_taps(const Keys& keys, std::string_view key);
// The number of elements of a head. Throws FormatError if the key is absent.
std::int64_t read_state_width(const Keys& keys, std::string_view key);

}  // namespace weft::arch
