// Granite 3 (dense) as an architecture of one's own, outside of Weft's source tree: as Llama, with
// four numbers that scale the embeddings, what each block adds, the scores of attention and the
// logits. Source: Granite Team, IBM 2024, "Granite 3.0 Language Models".
//
//   granite                   makes up a tiny model and checks the builder: exit code 1 on failure
//   granite MODEL.gguf 1 2 3  prints the logits of every position, one line each

#include <cstdlib>
#include <iostream>

#include "weft/arch/blocks.h"
#include "weft/base/error.h"
#include "weft/check/new_model.h"
#include "weft/ops/add.h"
#include "weft/ops/get_rows.h"
#include "weft/ops/rope.h"
#include "weft/ops/scale.h"
#include "weft/ops/views.h"
#include "weft/run/session.h"

using namespace weft;

namespace {

Tensor attn(const Weights& blk, const Hparams& c, const Inputs& in, std::int64_t layer, Tensor x,
            Tensor angles) {
  auto [q, k, v] = project_heads(blk, c, x);  // [T, H, E], [T, G, E], [T, G, Ev]
  q = rope(q, angles, RopePairs::adjacent).named("attn_q_rope");
  k = rope(k, angles, RopePairs::adjacent).named("attn_k_rope");
  Tensor y = in.memory.attend(layer, q, k, v, {.scale = c.attention_scale});  // [T, H, Ev]
  y = merge_heads(y).named("attn_merged");                                    // [T, H * Ev]
  return project(blk, "attn_output", c.D, c.H * c.Ev, y);                     // [T, D]
}

Tensor build(const Weights& w, const Hparams& c, const Inputs& in) {
  const float residual = c.own.at("residual_scale");
  Tensor embd = w("token_embd.weight", {c.V, c.D});
  Tensor angles = rope_angles(in.pos, c.rope, rope_factors(w, c, in));       // [T, R]
  Tensor h = scale(get_rows(embd, in.tokens), c.own.at("embedding_scale"));  // [T, D]
  for (std::int64_t i = 0; i < c.L; ++i) {
    const Weights blk = w.block(i);
    Tensor y = attn(blk, c, in, i, norm(blk, "attn_norm", c, h), angles);
    h = add(h, scale(y, residual)).named("attn_residual");
    y = swiglu(blk, c, norm(blk, "ffn_norm", c, h));
    h = add(h, scale(y, residual)).named("ffn_residual");
  }
  Tensor out = head(w, c, h, embd, in);  // [O, V], or [O, D]
  return in.embeddings ? out : scale(out, 1 / c.own.at("logit_scale"));
}

void configure(const ModelSource& source, Hparams& c) {
  if (c.n_experts > 0) fail<UnsupportedError>("{}: experts are not built here", source.file());
  if (source.find_bool("granite.rope.scaling.finetuned") == false)
    fail<UnsupportedError>("{}: models without rope are not built here", source.file());
  const auto number = [&](const char* name, double otherwise) {
    const std::string key = std::string("granite.") + name;
    const double value = source.find_float(key).value_or(otherwise);
    if (value > 0 && value < 1e6) return static_cast<float>(value);
    fail<FormatError>("{}: key '{}' is {}, must be above 0 and below 1e6", source.file(), key,
                      value);
  };
  for (const char* name : {"embedding_scale", "residual_scale", "logit_scale"})
    c.own[name] = number(name, 1);
  c.attention_scale = number("attention.scale", c.attention_scale);
}

int check() {
  const SelfReport report = check_new_model("granite", {.keys = {{"granite.embedding_scale", 12.0},
                                                                 {"granite.residual_scale", 0.22},
                                                                 {"granite.logit_scale", 4.0},
                                                                 {"granite.attention.scale", 0.3}},
                                                        .snapshot = GRANITE_SNAPSHOT});
  std::cout << report.to_text();
  return report.passed() ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) try {
  register_architecture({.name = "granite", .build = build, .configure = configure});
  if (argc < 2) return check();
  Session session(Model::load(argv[1]), {.cache_k = f32, .cache_v = f32});
  for (int i = 2; i < argc; ++i) {
    session.feed(0, std::vector{std::atoi(argv[i])});
    for (const float logit : session.logits()) std::cout << logit << ' ';
    std::cout << '\n';
  }
} catch (const Error& error) {
  std::cerr << "granite: " << error.what() << '\n';
  return EXIT_FAILURE;
}
