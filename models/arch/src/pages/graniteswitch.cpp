// Granite Switch: Granite with adapters of low rank on every projection, which tokens switch on. A
// token that switches is replaced by another one; the tokens after it use its adapter. Attention
// with one head over the whole sequence finds the number of the adapter.
// Source: the metadata and tensors of its GGUF files.

#include "weft/ops/elementwise/add.h"
#include "weft/ops/elementwise/clamp.h"
#include "weft/ops/elementwise/mul.h"
#include "weft/ops/elementwise/scale.h"
#include "weft/ops/ids/ids_to_floats.h"
#include "weft/ops/ids/replace_id.h"
#include "weft/ops/ids/round_to_ids.h"
#include "weft/ops/projections/expert_linear.h"
#include "weft/ops/rows/get_rows.h"
#include "weft/ops/rows/slice_heads.h"
#include "weft/ops/rows/views.h"

#include "pages/granite.h"

namespace weft::arch {
namespace {

struct Adapter {
  std::int32_t token = 0, substitute = 0;
};
struct Switch : Granite {
  std::int64_t rank = 0;
  float gain = 0;
  std::vector<Adapter> adapters = {};  // number 1, 2, ..; 0 is none
};

// The number of the adapter of every token [T, 1]: the rounded mean of those switched on before.
// The keys of tokens that switch are so much larger that softmax sees no others.
Tensor adapter_ids(const Switch& c, const Inputs& in) {
  const std::int64_t E = c.layer(0).E;  // every element is the same
  Tensor numbers = zero_ids(in);
  for (std::size_t i = 0; i < c.adapters.size(); ++i) {
    const auto number = static_cast<std::int32_t>(i + 1);
    numbers = replace_id(in.tokens, numbers, {.from = c.adapters[i].token, .to = number});
  }
  const Tensor v = split_heads(ids_to_floats(numbers, E), 1);  // [T, 1, E]
  const Tensor k = scale(clamp(v, 0, 1), 2 * c.gain), q = clamp(v, 1, 1);
  const Tensor y = in.memory.attend(c.L, q, k, v, {.scale = 1 / static_cast<float>(E)});
  return round_to_ids(merge_heads(slice_heads(y, 0, 1)),
                      static_cast<std::int32_t>(c.adapters.size()));
}

// What the tokens' adapters add to the projection `name` of x [T, K]: [T, N].
Tensor adapter(const Layer& l, std::string_view name, std::int64_t N, Tensor x, Tensor ids) {
  const auto& c = l.config<Switch>();
  const std::int64_t n = std::ssize(c.adapters) + 1, K = x.shape()[1].bound;
  const std::string base(name);
  const Tensor inner = expert_linear(x, l.w(base + ".lora_a", {n, c.rank, K}), ids);
  return merge_heads(expert_linear(inner, l.w(base + ".lora_b", {n, N, c.rank}), ids));
}

Tensor adapted(const Layer& l, std::string_view name, std::int64_t N, Tensor x, Tensor ids) {
  return add(project(l.w, name, N, x.shape()[1].bound, x), adapter(l, name, N, x, ids));
}

Tensor attention(const Layer& l, Tensor x, Tensor ids) {
  const LayerHparams& n = l.hparams();
  const std::int64_t nq = n.H * n.E, nk = n.G * n.E;
  const Heads heads = project_heads(l, x);
  const auto with = [&](std::string_view name, std::int64_t N, std::int64_t n_heads, Tensor y) {
    return split_heads(add(merge_heads(y), adapter(l, name, N, x, ids)), n_heads);
  };
  const Tensor q = rope_adjacent(l, "attn_q", with("attn_q", nq, n.H, heads.q));
  const Tensor k = rope_adjacent(l, "attn_k", with("attn_k", nk, n.G, heads.k));
  const Tensor v = with("attn_v", n.G * n.Ev, n.G, heads.v);
  const float factor = l.config<Switch>().attention_scale;
  const Tensor y = l.in.memory.attend(l.index, q, k, v, {.scale = factor});
  return adapted(l, "attn_output", l.c.D, merge_heads(y), ids);
}

Tensor ffn(const Layer& l, Tensor x, Tensor ids) {
  const std::int64_t F = l.hparams().F;
  const Tensor gate = adapted(l, "ffn_gate", F, x, ids), up = adapted(l, "ffn_up", F, x, ids);
  return adapted(l, "ffn_down", l.c.D, mul(act::silu(gate), up), ids);
}

Tensor build(const Weights& w, const Switch& c, const Inputs& in) {
  const Tensor embd = w("token_embd.weight", {c.V, c.D});
  Tensor tokens = in.tokens;
  for (const Adapter& a : c.adapters)
    tokens = replace_id(in.tokens, tokens, {.from = a.token, .to = a.substitute});
  const Tensor ids = adapter_ids(c, in);
  Tensor angles;
  if (c.rope.n_rot > 0) angles = rope_angles(in.pos, c.rope, rope_factors(w, c, in));
  Tensor h = scale(get_rows(embd, tokens), c.embedding_scale);
  for (std::int64_t i = 0; i < c.L; ++i) {
    const Weights blk = w.block(i);
    const Layer l{blk, c, in, i, angles};
    h = add(h, scale(attention(l, norm(blk, "attn_norm", c, h), ids), c.residual_scale));
    h = add(h, scale(ffn(l, norm(blk, "ffn_norm", c, h), ids), c.residual_scale));
  }
  const Tensor out = head(w, c, h, embd, in);
  return in.embeddings ? out : scale(out, c.logits_scale);
}

std::vector<std::int64_t> token_ids(const Keys& keys, const Hparams& c, std::string_view key,
                                    std::int64_t n) {
  std::vector<std::int64_t> ids = keys.source().find_ints(keys.name(key));
  if (ids.empty() && keys.source().make_up(keys.name(key)))
    ids = keys.source().find_ints(keys.name(key));
  if (std::ssize(ids) != n)
    keys.refuse(key, fmt::format("{} numbers", ids.size()), fmt::format("{} numbers", n));
  for (const std::int64_t id : ids) {
    if (id < 0 || id >= c.V) keys.refuse(key, id, fmt::format("0..{}", c.V - 1));
  }
  return ids;
}

Switch read(const Keys& keys) {
  // The cache averages the numbers of adapters: F16 and Q8_0 distinguish them up to 1023.
  constexpr std::int64_t kMaxAdapters = 1023, kMaxRank = 4096;
  Switch c{read_granite(keys)};
  require_dense(keys, c);
  const std::int64_t n = keys.count("adapters.count", kMaxAdapters);
  c.rank = keys.count("adapters.lora_rank", kMaxRank);
  c.gain = keys.number_or("adapters.router_gain", 1, 1e4, 30);
  const auto tokens = token_ids(keys, c, "adapters.token_ids_activate", n);
  const auto substitutes = token_ids(keys, c, "adapters.token_ids_substitute", n);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    c.adapters.push_back(
        {static_cast<std::int32_t>(tokens[i]), static_cast<std::int32_t>(substitutes[i])});
  }
  return c;
}

}  // namespace

extern const Architecture kGraniteSwitch;
constinit const Architecture kGraniteSwitch = architecture<build, read>("graniteswitch");

}  // namespace weft::arch
