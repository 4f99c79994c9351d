#pragma once
// Building blocks that several architectures share. A block is moved here once two of them use it.
// Blocks do not know architectures: the options of a model are in its own file, or follow from the
// tensors of the model file.

#include <array>
#include <functional>
#include <optional>
#include <string_view>

#include "weft/arch/builder.h"
#include "weft/ops/attention/attention_temperature.h"

namespace weft::arch {

// x NAME.weight^T (* NAME.scale) (+ NAME.bias), the last two if the file has them: [T, K] -> [T,
// N]. NAME.input_scale, the magnitude of x for engines that quantize it, is not used.
Tensor project(const Weights& w, std::string_view name, std::int64_t N, std::int64_t K, Tensor x);

// The name of a norm without a weight.
inline constexpr std::string_view kNoWeight = "*";

// Norm of c.norm over the last dimension, with the weight NAME.weight (NAME in some files) and, if
// the file has it, NAME.bias. A weight [H, E] has one row per head of x [T, H, E].
Tensor norm(const Weights& w, std::string_view name, const Hparams& c, Tensor x);

// Final norm and logits of the rows that need them: [T, D] -> [O, V]. `embd` is the output matrix
// if the file has no output.weight.
Tensor head(const Weights& w, const Hparams& c, Tensor h, Tensor embd, const Inputs& in,
            std::string_view norm_name = "output_norm");
// Its last part: the logits of normalized rows, [O, D] -> [O, V].
Tensor logits_of(const Weights& w, const Hparams& c, Tensor rows, Tensor embd);

// The divisors of the rope frequencies in the file [R / 2], or no tensor: rope_freqs, or one of the
// two sets of LongRoPE. The long set is used if the session's context is longer than the context
// the model was first trained with.
Tensor rope_factors(const Weights& w, const Hparams& c, const Inputs& in);

// cap * tanh(x / cap)
Tensor softcap(Tensor x, float cap);

// A layer while its graph is built.
struct Layer {
  const Weights& w;  // the layer's: w("attn_norm.weight", ..)
  const Hparams& c;
  const Inputs& in;
  std::int64_t index;
  Tensor angles;  // [T, R] of rope; none if the layer has none

  const LayerHparams& hparams() const { return c.layer(index); }
  // The config of the architecture whose blocks these are: see config_cast().
  template <class Own>
  const Own& config(SourceLine where = std::source_location::current()) const {
    return config_cast<Own>(c, where);
  }
};

using Block = std::function<Tensor(const Layer& l, Tensor x)>;  // [T, D] -> [T, D]

// A step that transforms queries or keys between projection and attention: x [T, heads, E] -> the
// same shape. `name` is the name of the projection, "attn_q" or "attn_k".
using HeadStep = Tensor (*)(const Layer& l, std::string_view name, Tensor x);
Tensor norm_heads(const Layer& l, std::string_view name, Tensor x);  // each head, NAME_norm.weight
Tensor norm_width(const Layer& l, std::string_view name, Tensor x);  // all heads as one row
Tensor norm_heads_unweighted(const Layer& l, std::string_view name, Tensor x);
Tensor norm_heads_if_present(const Layer& l, std::string_view name, Tensor x);
Tensor norm_width_if_present(const Layer& l, std::string_view name, Tensor x);
Tensor rope_adjacent(const Layer& l, std::string_view name, Tensor x);  // pairs (0, 1), (2, 3), ..
Tensor rope_halves(const Layer& l, std::string_view name, Tensor x);    // pairs (0, R / 2), ..

// Every head of x [T, H, E], divided by its length and multiplied by `factor`. `eps` is added to
// the mean of squares, so that heads of zeros stay zeros.
Tensor unit_heads(Tensor x, float eps, float factor = 1);

// An activation, elementwise.
using Act = Tensor (*)(Tensor x);
namespace act {
Tensor silu(Tensor x);
Tensor gelu(Tensor x);      // by tanh
Tensor gelu_erf(Tensor x);  // exact
Tensor relu(Tensor x);
Tensor relu_squared(Tensor x);
Tensor sigmoid(Tensor x);
Tensor softplus(Tensor x);
}  // namespace act

// A step that transforms the result of attention, y [T, H, Ev], before the output projection;
// x [T, D] is the input of attention.
using OutputStep = Tensor (*)(const Layer& l, Tensor x, Tensor y);
// Multiplies y by the sigmoid or the softplus of attn_gate x: one gate per element, or one per head
// if the tensor has H rows.
Tensor gate_by_sigmoid(const Layer& l, Tensor x, Tensor y);
Tensor gate_by_softplus(const Layer& l, Tensor x, Tensor y);

// The memory that the layer attends to, by its window and c.causal.
Memory memory_of(const Layer& l);

// The projections of attention. A layer that attends to the keys and values of another one has only
// q.
struct Heads {
  Tensor q, k, v;  // [T, H, E], [T, G, E], [T, G, Ev]
};
// By three matrices, or by one that holds the rows of q, k and v: attn_q, attn_k, attn_v or
// attn_qkv, clamped to c.clamp_qkv.
Heads project_heads(const Layer& l, Tensor x);
// The same rows, not split into heads: [T, nq], [T, nk], [T, nv].
Heads project_rows(const Layer& l, Tensor x, std::int64_t nq, std::int64_t nk, std::int64_t nv);

// Attention with grouped heads: [T, D] -> [T, D]. Uses sinks, biases, a fused projection to q, k
// and v, and a norm before the output projection if the file has their tensors.
struct Attention {
  std::array<HeadStep, 4> q_and_k = {};  // applied to q and to k, in this order
  std::optional<float> scale = {};       // of q.k; default: 1 / sqrt(E)
  float softcap = 0;                     // of scores; 0: none
  float alibi = 0;                       // 0: none
  std::array<OutputStep, 2> output = {};
  std::optional<TemperatureAttrs> temperature = {};             // of q
  std::function<Memory(const Layer& l, Tensor x)> memory = {};  // null: memory_of(l)
  Heads (*heads)(const Layer& l, Tensor x) = project_heads;
  HeadStep values = nullptr;  // applied to v

  Tensor operator()(const Layer& l, Tensor x) const;
};

// What the unit of an ffn combines.
struct GateUp {
  Tensor gate, up;
};
// [T, F] both, by ffn_gate and ffn_up, or by an ffn_up that holds the rows of both, the gate's
// first.
GateUp project_gate_up(const Layer& l, Tensor x);

// Feed-forward layer of width F: down(act(gate(x)) * up(x)), or down(act(up(x))): [T, D] -> [T, D].
struct Ffn {
  Act act = act::silu;
  bool gated = true;  // by ffn_gate, or by the first half of ffn_up if there is no ffn_gate

  Tensor operator()(const Layer& l, Tensor x) const;
};
Tensor swiglu(const Layer& l, Tensor x);  // Ffn{act::silu}

// 0 for every token: [T] i32.
Tensor zero_ids(const Inputs& in);

// The convolution w [C, taps] along the tokens of each sequence, separately for every channel of
// x [T, C], (+ bias [C]), then silu: [T, C]. Keeps the last inputs of a sequence as its state,
// whose name begins with `state`.
Tensor short_convolution(const Layer& l, std::string_view state, Tensor x, Tensor w,
                         Tensor bias = {});

// The experts of every token of x [T, D], chosen by a router (router_choice) or known
// (weigh_experts).
struct ExpertChoice {
  Tensor ids;      // [T, K] i32
  Tensor weights;  // [T, K]
  Tensor x = {};   // what the router ffn_gate_inp read, if it chose them
};
ExpertChoice router_choice(const Layer& l, Tensor x);
ExpertChoice choose_experts(const Layer& l, Tensor logits);  // [T, X], of the router
// Says in the graph that ffn_gate_inp chose `ids` for x [T, D], which the experts read, too, so
// that they can be guessed (Graph::add_router). No effect unless x is the result of a norm with a
// weight. experts() calls it.
void name_router(const Layer& l, Tensor ids, Tensor x);
// The weights of experts that are known beforehand: ids [T, K] i32.
ExpertChoice weigh_experts(const Layer& l, Tensor logits, Tensor ids);
// x [T, D] or [T, K, D] times NAME.weight [X, N, ..] of the chosen experts (* NAME.scale [X])
// (+ NAME.bias [X, N]): [T, K, N].
Tensor project_experts(const Layer& l, std::string_view name, std::int64_t N, Tensor x, Tensor ids);
// Combines the gate and up projections of an ffn, or transforms up alone.
struct Unit {
  using Combine = Tensor (*)(const Layer& l, Tensor gate, Tensor up);
  Combine combine;
  bool gated;  // whether combine() gets the tensor of a gate

  constexpr Unit(Combine f, bool has_gate = true) : combine(f), gated(has_gate) {}
  Tensor operator()(const Layer& l, Tensor gate, Tensor up) const { return combine(l, gate, up); }
};
namespace unit {
extern const Unit swiglu, geglu, reglu;
extern const Unit gelu;  // of up alone
// min(gate, 7) * sigmoid(1.702 min(gate, 7)) * (clamp(up, -7, 7) + 1), that of gpt-oss.
extern const Unit clamped_swiglu;
// min(silu(gate), limit) * clamp(up, -limit, limit), with the layer's limit in c.experts.limits or
// shared_limits.
extern const Unit limited_swiglu, limited_shared_swiglu;
}  // namespace unit

// Feed-forward layer of width F without biases of its own: ffn_down(unit(ffn_gate x, ffn_up x)):
// [T, D] -> [T, D].
Tensor gated_ffn(const Layer& l, Tensor x, const Unit& unit);

// Gate and up projections by the chosen experts, both [T, K, F]: by two tensors, or by
// ffn_gate_up_exps, with the rows of the gate first. No gate if `gated` is false.
GateUp project_experts_gate_up(const Layer& l, Tensor x, Tensor ids, bool gated = true);
// The weighted sum of the chosen experts' outputs for x [T, D], or x of another width: like x.
Tensor experts(const Layer& l, Tensor x, const ExpertChoice& choice, const Unit& unit);
// The output of the shared expert, multiplied by its own gate if the file has one.
Tensor shared_expert(const Layer& l, Tensor x, const Unit& unit);
// Experts plus the shared expert if there is one, each with its limit in c.experts: [T, D] ->
// [T, D].
Tensor limited_experts(const Layer& l, Tensor x);

// A mixture of experts (c.experts), plus the shared expert if there is one, in layers with experts;
// `dense` in the others: [T, D] -> [T, D].
struct Moe {
  Unit unit = unit::swiglu;
  Ffn dense = {};

  Tensor operator()(const Layer& l, Tensor x) const;
};

// How queries grow with their position, by attention.temperature_scale and temperature_length, or
// else the context of the first training. None if the scale is 0. Throws as Keys does.
// Source: transformers, get_llama_4_attn_scale() of modeling_ministral3.py.
std::optional<TemperatureAttrs> read_temperature(const Keys& keys, const Hparams& c);

}  // namespace weft::arch
