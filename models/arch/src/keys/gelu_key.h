#pragma once
// Which GELU a model was trained with.

#include <algorithm>
#include <iterator>

#include <fmt/ranges.h>

#include "weft/arch/blocks.h"
#include "weft/arch/hugging_face.h"
#include "weft/base/error.h"
#include "weft/base/printable.h"

namespace weft::arch {

// The exact one if ARCH.hidden_activation is "gelu"; the approximation by tanh for its names, and
// if the file does not say, as all readers of GGUF files compute it. Throws UnsupportedError for
// other names.
inline Act read_gelu(const Keys& keys) {
  constexpr std::string_view kByTanh[] = {"gelu_pytorch_tanh", "gelu_new", "gelu_fast"};
  const std::string key = keys.name("hidden_activation");
  const auto name = keys.source().find_string(key);
  if (!name || std::ranges::find(kByTanh, *name) != std::end(kByTanh)) return act::gelu;
  if (*name == "gelu") return act::gelu_erf;
  fail<UnsupportedError>("{}: key '{}' is '{}' (known: gelu, {})", keys.source().file(), key,
                         printable(*name), fmt::join(kByTanh, ", "));
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
