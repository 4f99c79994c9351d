#pragma once
// Mixers of the Mamba family: state space layers whose parameters depend on the token.
//
//   I channels, K taps of the convolution, N states per channel (Mamba) or head (Mamba 2), H heads
//   of P = I / H channels, G groups of heads that share B and C

#include "weft/arch/blocks.h"

namespace weft::arch {

// The keys ssm.*.
struct StateSpace {
  std::int64_t K = 0;        // ssm.conv_kernel
  std::int64_t I = 0;        // ssm.inner_size
  std::int64_t N = 0;        // ssm.state_size
  std::int64_t dt_rank = 0;  // ssm.time_step_rank: of the projection to dt, or H
  std::int64_t G = 1;        // ssm.group_count
  bool norm_dt_b_c = false;  // ssm.dt_b_c_rms: dt, B and C are normalized, without weights
};

// Reads and checks the keys. `heads`: dt_rank is the number of heads; it must divide I, and G must
// divide it. Throws FormatError as Keys does.
StateSpace read_state_space(const Keys& keys, bool heads);

// Hparams of models whose layers are state space layers or contain them.
struct MambaHparams : Hparams {
  StateSpace ssm;
};

// x [T, D] -> [T, D]. Source: Gu & Dao 2023, arXiv:2312.00752. dt, B and C get the norms that the
// file has (Lieber et al. 2024, arXiv:2403.19887).
struct Mamba {
  StateSpace ssm;
  Tensor operator()(const Layer& l, Tensor x) const;
};

// x [T, D] -> [T, D]. Source: Dao & Gu 2024, arXiv:2405.21060. The gated output is normalized per
// group if the file has ssm_norm.
struct Mamba2 {
  StateSpace ssm;
  Tensor operator()(const Layer& l, Tensor x) const;
};

// short_convolution() of x [T, C] with ssm_conv1d (+ its bias, if the file has it).
Tensor ssm_convolution(const Layer& l, std::int64_t taps, Tensor x);

// The heads of Mamba 2: x [T, H, P], dt [T, H] before its bias, b, c [T, G, N] -> [T, H, P].
Tensor state_space_heads(const Layer& l, Tensor x, Tensor dt, Tensor b, Tensor c);

}  // namespace weft::arch
