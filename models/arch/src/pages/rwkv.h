#pragma once
// What RWKV 6 and 7 share (rwkv6.cpp, rwkv7.cpp).

#include <string_view>
#include <vector>

#include "weft/arch/blocks.h"

namespace weft::arch::rwkv {

inline constexpr std::int64_t kMaxWidth = 1 << 24;

// Reads wkv.head_size: every layer has H = D / E heads of E elements, and as many kv heads. Throws
// FormatError if it does not divide D, or if token_shift_count is not `n_shifts`.
void read_heads(const Keys& keys, Hparams& c, std::int64_t n_shifts);

// A number of columns in 1..kMaxWidth.
std::int64_t read_rank(const Keys& keys, std::string_view key);

// x of the previous token of each sequence, zero before the first: [T, D] -> [T, D]. `name` tells
// the states of a layer apart.
Tensor shifted(const Layer& l, std::string_view name, Tensor x);

// x + (previous - x) * w for each of the M weights, [M, D] or [T, M, D]: M tensors [T, D].
std::vector<Tensor> mixes(Tensor x, Tensor previous, Tensor w);

// The weights NAME.weight [M, 1, 1, D] of mixes(), as [M, D].
Tensor mix_weights(const Layer& l, std::string_view name, std::int64_t M);

// A projection through `rank` columns: act(x NAME1^T) NAME2^T, x [T, D] -> [T, D].
Tensor low_rank(const Layer& l, std::string_view name, std::int64_t rank, Act act, Tensor x);

// Layer norm of every head, then time_mix_ln over all of them: [T, H, E] -> [T, D].
Tensor norm_of_heads(const Layer& l, Tensor y);

}  // namespace weft::arch::rwkv
