// The functions with which an architecture builds its graph.

#include <string>
#include <vector>

#include "weft/arch/blocks.h"

#include "border/arguments.h"
#include "border/call.h"
#include "graphs/builder_objects.h"

namespace weft::c_api {
namespace {

weft_attend_options default_attend_options() {
  return {.struct_size = sizeof(weft_attend_options), .sinks = kNoNode, .distances = kNoNode};
}

// A tensor [T, heads, width].
Tensor of_heads(const BuilderObject& b, weft_tensor_id id, std::string_view name) {
  const Tensor tensor = present_tensor(*b.graph, id, name);
  if (tensor.shape().n_dims() != 3)
    fail<ShapeError>("`{}` must have 3 dimensions, got {}", name, to_string(tensor.shape()));
  return tensor;
}

// Queries, and how they attend.
struct Attending {
  Attending(const BuilderObject& builder, weft_tensor_id queries, const weft_attend_options* given)
      : b(builder),
        o(read_options(given, default_attend_options(), "weft_attend_options")),
        q(of_heads(b, queries, "q")) {}

  arch::Memory memory() const {
    if ((o.both_ways != 0) + (o.window != 0 && !o.both_ways) + (o.chunk != 0) > 1)
      fail<ValueError>("a chunk goes with neither a window nor both_ways");
    const arch::Memory& all = b.inputs.memory;
    if (o.both_ways) return all.both_ways(o.window);
    if (o.chunk != 0) return all.chunks(o.chunk);
    return o.window != 0 ? all.window(o.window) : all;
  }
  AttentionAttrs attrs() const {
    return {static_cast<float>(o.scale != 0 ? o.scale : score_scale(q.shape()[-1].bound))};
  }
  AttentionBias bias() const {
    return {.softcap = static_cast<float>(o.softcap),
            .alibi = static_cast<float>(o.alibi),
            .pos = o.alibi > 0 || o.distances >= 0 ? b.inputs.pos : Tensor(),
            .sinks = b.graph->tensor(o.sinks, "sinks"),
            .distances = b.graph->tensor(o.distances, "distances")};
  }

  const BuilderObject& b;
  const weft_attend_options o;
  const Tensor q;
};

Tensor attend_latent(const Attending& a, std::int64_t layer, Tensor c) {
  if (a.o.softcap != 0 || a.o.alibi != 0 || a.o.distances >= 0)
    fail<ValueError>("attention to latent vectors takes no softcap, alibi or distances");
  return a.memory().attend_latent(layer, a.q, c, a.attrs(), a.bias().sinks, {}, a.b.graph->where);
}

// The recurrent ops by name, with the numbers of inputs that they need and take.
struct RecurrentKind {
  std::string_view name;
  std::size_t n_needed, n_inputs;
  Tensor (*apply)(const arch::Recurrent& r, std::span<const Tensor> in, SourceLine where);
};
constexpr RecurrentKind kRecurrentKinds[] = {
    {"scan", 2, 2, [](const auto& r, auto in, auto at) { return r.scan(in[0], in[1], at); }},
    {"token_shift", 1, 1, [](const auto& r, auto in, auto at) { return r.token_shift(in[0], at); }},
    {"causal_conv", 2, 3,
     [](const auto& r, auto in, auto at) { return r.causal_conv(in[0], in[1], in[2], at); }},
    {"gated_linear_attention", 4, 5,
     [](const auto& r, auto in, auto at) {
       return r.gated_linear_attention(in[0], in[1], in[2], in[3], in[4], at);
     }},
    {"delta_rule", 6, 6,
     [](const auto& r, auto in, auto at) {
       return r.delta_rule({in[0], in[1], in[2], in[3], in[4], in[5]}, at);
     }},
    {"selective_scan", 5, 5, [](const auto& r, auto in, auto at) {
       return r.selective_scan(in[0], in[1], in[2], in[3], in[4], at);
     }}};

Tensor recurrent(const BuilderObject& b, std::string_view kind, std::string_view state,
                 const Shape& shape, std::vector<Tensor> in) {
  for (const RecurrentKind& k : kRecurrentKinds) {
    if (k.name != kind) continue;
    if (in.size() > k.n_inputs)
      fail<ValueError>("{} takes {} inputs, got {}", kind, k.n_inputs, in.size());
    in.resize(k.n_inputs);
    for (std::size_t i = 0; i < k.n_needed; ++i) {
      if (!in[i] || in[i].shape().n_dims() == 0)
        fail<ValueError>("{}: input {} is absent or has no dimensions", kind, i);
    }
    return k.apply(b.inputs.memory.recurrent(state, shape, b.graph->where), in, b.graph->where);
  }
  std::string known;
  for (const RecurrentKind& k : kRecurrentKinds)
    known += (known.empty() ? "" : ", ") + std::string(k.name);
  fail<ValueError>("unknown recurrent op '{}' (known: {})", kind, known);
}

// A function of a builder that makes a tensor.
template <class F>
weft_status build(weft_builder* builder, weft_tensor_id* result, weft_error** error, const F& f) {
  return call(error, [&] {
    required(result, "the result");
    const auto b = used_in_callback<BuilderObject>(builder);
    *result = f(*b).id();
  });
}

Tensor weight(const BuilderObject& b, std::string_view name, const Shape& shape,
              std::uint32_t flags) {
  const arch::Weights& w = b.current();
  check_flags(flags, WEFT_WEIGHT_OPTIONAL | WEFT_WEIGHT_SQUEEZED | WEFT_WEIGHT_STACKED, "flags");
  const bool optional = (flags & WEFT_WEIGHT_OPTIONAL) != 0;
  const bool plain = (flags & (WEFT_WEIGHT_SQUEEZED | WEFT_WEIGHT_STACKED)) == 0;
  if (optional && (plain || !w.has(name))) return w.optional(name, shape, b.graph->where);
  if (flags & WEFT_WEIGHT_SQUEEZED) return w.squeezed(name, shape, b.graph->where);
  if (flags & WEFT_WEIGHT_STACKED) return w.stacked(name, shape, b.graph->where);
  return w(name, shape, b.graph->where);
}

}  // namespace
}  // namespace weft::c_api

using namespace weft;
using namespace weft::c_api;

weft_status weft_builder_get_graph(weft_builder* builder, weft_graph** graph, weft_error** error) {
  return call(error, [&] {
    required(graph, "graph") = used_in_callback<BuilderObject>(builder)->graph_handle;
  });
}

weft_status weft_builder_get_input(weft_builder* builder, int32_t which, weft_tensor_id* tensor,
                                   weft_error** error) {
  return build(builder, tensor, error, [&](const BuilderObject& b) {
    const Tensor inputs[] = {b.inputs.tokens, b.inputs.pos, b.inputs.out_rows};
    check_between(which, 0, WEFT_INPUT_OUT_ROWS, "which");
    return inputs[which];
  });
}

weft_status weft_builder_wants_embeddings(weft_builder* builder, int32_t* wants,
                                          weft_error** error) {
  return call(error, [&] {
    required(wants, "wants") = used_in_callback<BuilderObject>(builder)->inputs.embeddings;
  });
}

weft_status weft_builder_weight(weft_builder* builder, const char* name, const int64_t* dims,
                                size_t rank, uint32_t flags, weft_tensor_id* tensor,
                                weft_error** error) {
  return build(builder, tensor, error, [&](const BuilderObject& b) {
    return weight(b, required_name(name, "name"), fixed_shape(dims, rank), flags);
  });
}

weft_status weft_builder_has_weight(weft_builder* builder, const char* name, int32_t* has,
                                    weft_error** error) {
  return call(error, [&] {
    required(has, "has") =
        used_in_callback<BuilderObject>(builder)->current().has(required_name(name, "name"));
  });
}

weft_status weft_builder_ignore_weight(weft_builder* builder, const char* name,
                                       weft_error** error) {
  return call(error, [&] {
    used_in_callback<BuilderObject>(builder)->current().ignore(required_name(name, "name"));
  });
}

weft_status weft_builder_begin_block(weft_builder* builder, int64_t i, weft_error** error) {
  return call(error, [&] {
    const auto b = used_in_callback<BuilderObject>(builder);
    if (b->weights.size() > 1) fail<ValueError>("a block is open: end it first");
    if (i < 0) fail<ValueError>("`i` must not be negative, got {}", i);
    b->weights.push_back(b->current().block(i));
  });
}

weft_status weft_builder_end_block(weft_builder* builder, weft_error** error) {
  return call(error, [&] {
    const auto b = used_in_callback<BuilderObject>(builder);
    if (b->weights.size() < 2) fail<ValueError>("no block is open");
    b->weights.pop_back();
  });
}

weft_status weft_attend_options_init(weft_attend_options* options, size_t size) {
  return call(nullptr, [&] {
    init_options(options, size, default_attend_options(), "weft_attend_options");
  });
}

weft_status weft_builder_attend(weft_builder* builder, int64_t layer, weft_tensor_id q,
                                weft_tensor_id k, weft_tensor_id v,
                                const weft_attend_options* options, weft_tensor_id* y,
                                weft_error** error) {
  return build(builder, y, error, [&](const BuilderObject& b) {
    const Attending a(b, q, options);
    return a.memory().attend(layer, a.q, of_heads(b, k, "k"), of_heads(b, v, "v"), a.attrs(),
                             a.bias(), b.graph->where);
  });
}

weft_status weft_builder_attend_stored(weft_builder* builder, int64_t layer, weft_tensor_id q,
                                       const weft_attend_options* options, weft_tensor_id* y,
                                       weft_error** error) {
  return build(builder, y, error, [&](const BuilderObject& b) {
    const Attending a(b, q, options);
    return a.memory().attend_stored(layer, a.q, a.attrs(), a.bias(), b.graph->where);
  });
}

weft_status weft_builder_attend_latent(weft_builder* builder, int64_t layer, weft_tensor_id q,
                                       weft_tensor_id c, const weft_attend_options* options,
                                       weft_tensor_id* y, weft_error** error) {
  return build(builder, y, error, [&](const BuilderObject& b) {
    const Attending a(b, q, options);
    return attend_latent(a, layer, of_heads(b, c, "c"));
  });
}

weft_status weft_builder_recurrent(weft_builder* builder, const char* kind, const char* state,
                                   const int64_t* dims, size_t rank, const weft_tensor_id* inputs,
                                   size_t n_inputs, weft_tensor_id* y, weft_error** error) {
  return build(builder, y, error, [&](const BuilderObject& b) {
    return recurrent(b, required_name(kind, "kind"), required_name(state, "state"),
                     fixed_shape(dims, rank), b.graph->tensors(inputs, n_inputs));
  });
}

weft_status weft_builder_norm(weft_builder* builder, const char* name, weft_tensor_id x,
                              weft_tensor_id* y, weft_error** error) {
  return build(builder, y, error, [&](const BuilderObject& b) {
    const Tensor rows = present_tensor(*b.graph, x, "x");
    if (rows.shape().n_dims() == 0) fail<ShapeError>("`x` has no dimensions");
    return arch::norm(b.current(), required_name(name, "name"), b.hparams, rows);
  });
}

weft_status weft_builder_project(weft_builder* builder, const char* name, int64_t n_out,
                                 int64_t n_in, weft_tensor_id x, weft_tensor_id* y,
                                 weft_error** error) {
  return build(builder, y, error, [&](const BuilderObject& b) {
    return arch::project(b.current(), required_name(name, "name"), n_out, n_in,
                         present_tensor(*b.graph, x, "x"));
  });
}

weft_status weft_builder_rope_factors(weft_builder* builder, weft_tensor_id* factors,
                                      weft_error** error) {
  return build(builder, factors, error, [&](const BuilderObject& b) {
    return arch::rope_factors(b.current(), b.hparams, b.inputs);
  });
}

weft_status weft_builder_head(weft_builder* builder, weft_tensor_id h, weft_tensor_id embeddings,
                              weft_tensor_id* rows, weft_error** error) {
  return build(builder, rows, error, [&](const BuilderObject& b) {
    return arch::head(b.current(), b.hparams, present_tensor(*b.graph, h, "h"),
                      b.graph->tensor(embeddings, "embeddings"), b.inputs);
  });
}
