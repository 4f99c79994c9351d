// Granite 3 (dense) as an architecture outside of Weft's source tree, by the name of "granit3":
// Llama, with factors for embeddings, residuals, scores, logits. Source: IBM 2024, "Granite 3.0".
//   granite                   makes a tiny model and checks the builder: exit code 1 on failure
//   granite MODEL.gguf 1 2 3  prints the logits of every position; without tokens, the plan's hash

#include <cmath>
#include <iostream>

#include "weft/arch/decoder.h"
#include "weft/check/new_model.h"
#include "weft/run/session.h"

using namespace weft;
using namespace weft::arch;

struct Granite : Hparams {
  float embedding_scale, residual_scale, attention_scale, logit_scale;
};

static Granite read_granite(const Keys& keys) {
  const Hparams c = read_hparams(keys);
  require_dense(keys, c);
  if (!keys.flag_or("rope.scaling.finetuned", true))
    fail<UnsupportedError>("{}: models without rope are not supported", keys.source().file());
  const auto number = [&](auto key, float x) { return keys.number_or(key, 1e-6, 1e6, x); };
  return {c, number("embedding_scale", 1), number("residual_scale", 1),
          number("attention.scale", 1 / std::sqrt(float(c.layer(0).E))), number("logit_scale", 1)};
}

static Decoder granite(const Granite& c) {
  const Attention attention{.q_and_k = {rope_adjacent}, .scale = c.attention_scale};
  const float scale = c.residual_scale;
  return {.rope = {.attrs = c.rope, .factors = true},
          .embedding_scale = c.embedding_scale,
          .layer = {{.name = "attn", .pre_norm = "attn_norm", .block = attention, .scale = scale},
                    {.name = "ffn", .pre_norm = "ffn_norm", .block = swiglu, .scale = scale}},
          .logits_scale = 1 / c.logit_scale};
}

static constexpr HfKey kConfigJson[] = {
    {"embedding_multiplier", "embedding_scale", HfKey::Kind::number},
    {"residual_multiplier", "residual_scale", HfKey::Kind::number},
    {"attention_multiplier", "attention.scale", HfKey::Kind::number},
    {"logits_scaling", "logit_scale", HfKey::Kind::number}};

int main(int argc, char** argv) try {
  register_architecture(decoder<granite, read_granite>(
      "granit3", {.types = {"granite"}, .keys = kConfigJson, .paired_rows = true}));
  if (argc < 2) {
    const SelfReport report =
        check_new_model("granit3", {.keys = {{"granit3.embedding_scale", 12.0},
                                             {"granit3.residual_scale", 0.22},
                                             {"granit3.attention.scale", 0.3},
                                             {"granit3.logit_scale", 4.0}},
                                    .snapshot = GRANITE_SNAPSHOT});
    std::cout << report.to_text();
    return report.passed() ? 0 : 1;
  }
  Session session(Model::load(argv[1]), {.cache_k = f32, .cache_v = f32});
  if (argc == 2) std::cout << fmt::format("{:016x}\n", session.plan(0).hash());
  for (int i = 2; i < argc; ++i) {
    session.feed(0, std::vector{std::stoi(argv[i])});
    for (const float logit : session.logits()) std::cout << fmt::format("{} ", logit);
    std::cout << '\n';
  }
} catch (const std::exception& error) {
  std::cerr << "granite: " << error.what() << '\n';
  return 1;
}
