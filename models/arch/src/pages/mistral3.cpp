// Ministral 3 and Devstral 2: as Llama; beyond the context of the first training, queries grow with
// the logarithm of their position (attention.temperature_scale).
// Source: Mistral AI 2025, https://mistral.ai/news/mistral-3.

#include "weft/arch/decoder.h"

namespace weft::arch {
namespace {

struct Mistral3 : Hparams {
  std::optional<TemperatureAttrs> temperature = {};
};

Decoder mistral3(const Mistral3& c) {
  Attention attention{{rope_adjacent}};
  attention.temperature = c.temperature;
  return {.rope = {.attrs = c.rope, .factors = true}, .layer = pre_norm_layer(attention, Moe{})};
}

Mistral3 read(const Keys& keys) {
  Mistral3 c{read_hparams(keys)};
  read_experts(keys, c, {.width = ExpertWidth::own_or_ffn});
  c.temperature = read_temperature(keys, c);
  return c;
}

}  // namespace

extern const Architecture kMistral3;
constinit const Architecture kMistral3 = decoder<mistral3, read>("mistral3");

}  // namespace weft::arch
