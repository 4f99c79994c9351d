#pragma once
// Which GELU a model was trained with.

#include "weft/arch/blocks.h"
#include "weft/arch/hugging_face.h"

namespace weft::arch {

// The exact one if ARCH.hidden_activation is "gelu"; otherwise the approximation by tanh, as all
// readers of GGUF files compute it.
inline Act read_gelu(const Keys& keys) {
  const auto name = keys.source().find_string(keys.name("hidden_activation"));
  return name && *name == "gelu" ? act::gelu_erf : act::gelu;
}

// The row for the key, with the default of transformers' class.
constexpr HfKey gelu_row(std::string_view hf_name, std::string_view usual = "gelu") {
  return {.hf_name = hf_name,
          .gguf_name = "hidden_activation",
          .kind = HfKey::Kind::text,
          .if_absent = HfKey::IfAbsent::use_default,
          .words = {usual}};
}

}  // namespace weft::arch
