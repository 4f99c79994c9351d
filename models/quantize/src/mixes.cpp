#include "mixes.h"

#include <algorithm>
#include <iterator>

#include "weft/base/text.h"

#include "types.h"

namespace weft::quantize {
namespace {

// Numbers of general.file_type. Source: docs/gguf.md of https://github.com/ggml-org/ggml and
// enum llama_ftype of https://github.com/ggml-org/llama.cpp/blob/master/include/llama.h
constexpr std::uint32_t kNoFile = 0xffffffff;  // for memory only
constexpr MixInfo kMixes[] = {
    {Mix::q1_0, "Q1_0", 40, "Q1_0"},       {Mix::q2_0, "Q2_0", 41, "Q2_0"},
    {Mix::q4_0, "Q4_0", 2, "Q4_0"},        {Mix::q4_1, "Q4_1", 3, "Q4_1"},
    {Mix::q5_0, "Q5_0", 8, "Q5_0"},        {Mix::q5_1, "Q5_1", 9, "Q5_1"},
    {Mix::q8_0, "Q8_0", 7, "Q8_0"},        {Mix::q2_k, "Q2_K", 10, "Q2_K"},
    {Mix::q2_k_s, "Q2_K_S", 21, "Q2_K"},   {Mix::q3_k_s, "Q3_K_S", 11, "Q3_K"},
    {Mix::q3_k_m, "Q3_K_M", 12, "Q3_K"},   {Mix::q3_k_l, "Q3_K_L", 13, "Q3_K"},
    {Mix::q4_k_s, "Q4_K_S", 14, "Q4_K"},   {Mix::q4_k_m, "Q4_K_M", 15, "Q4_K"},
    {Mix::q5_k_s, "Q5_K_S", 16, "Q5_K"},   {Mix::q5_k_m, "Q5_K_M", 17, "Q5_K"},
    {Mix::q6_k, "Q6_K", 18, "Q6_K"},       {Mix::iq1_s, "IQ1_S", 24, "IQ1_S"},
    {Mix::iq1_m, "IQ1_M", 31, "IQ1_M"},    {Mix::iq2_xxs, "IQ2_XXS", 19, "IQ2_XXS"},
    {Mix::iq2_xs, "IQ2_XS", 20, "IQ2_XS"}, {Mix::iq2_s, "IQ2_S", 28, "IQ2_XS"},
    {Mix::iq2_m, "IQ2_M", 29, "IQ2_S"},    {Mix::iq3_xxs, "IQ3_XXS", 23, "IQ3_XXS"},
    {Mix::iq3_xs, "IQ3_XS", 22, "IQ3_S"},  {Mix::iq3_s, "IQ3_S", 26, "IQ3_S"},
    {Mix::iq3_m, "IQ3_M", 27, "IQ3_S"},    {Mix::iq4_nl, "IQ4_NL", 25, "IQ4_NL"},
    {Mix::iq4_xs, "IQ4_XS", 30, "IQ4_XS"}, {Mix::tq1_0, "TQ1_0", 36, "TQ1_0"},
    {Mix::tq2_0, "TQ2_0", 37, "TQ2_0"},    {Mix::mxfp4_moe, "MXFP4_MOE", 38, "MXFP4"},
    {Mix::nvfp4, "NVFP4", 39, "NVFP4"},    {Mix::nf4, "NF4", kNoFile, "NF4"},
    {Mix::f16, "F16", 1, "F16"},           {Mix::bf16, "BF16", 32, "BF16"},
    {Mix::f32, "F32", 0, "F32"},           {Mix::copy, "COPY", 0, ""},
};

constexpr MixAlias kAliases[] = {{"Q3_K", "Q3_K_M"}, {"Q4_K", "Q4_K_M"}, {"Q5_K", "Q5_K_M"}};

// A set of mixes.
template <class... M>
constexpr std::uint64_t mixes(M... m) {
  return ((std::uint64_t{1} << static_cast<int>(m)) | ...);
}
constexpr std::uint64_t kAll = ~std::uint64_t{0};
// Mixes below three bits per weight: for them rules count matrices instead of layers.
constexpr std::uint64_t kTiny =
    mixes(Mix::iq1_s, Mix::iq1_m, Mix::iq2_xxs, Mix::iq2_xs, Mix::iq2_s, Mix::iq2_m);
constexpr std::uint64_t kIq2Larger = mixes(Mix::iq2_s, Mix::iq2_m);
constexpr std::uint64_t kIq1 = mixes(Mix::iq1_s, Mix::iq1_m);

// Selects layers of a model with n layers by their index i:
enum class Layers : std::uint8_t {
  all,
  first_two,
  first_four,
  first_sixteenth,  // i < n/16
  first_eighth,     // i < n/8
  middle,           // neither in the first nor in the last eighth
  spread,           // in the first or last eighth, or every third of the others
};
enum class Model : std::uint8_t {
  any,
  sharing_4,  // at least four heads share a key head
  experts_4,  // at least four experts
  experts_8,  // exactly eight
  no_imatrix,
  imatrix,
};

// The first row that matches a tensor gives its type; otherwise it gets the mix's main type.
struct Rule {
  std::uint64_t mixes;
  TensorClass of;
  std::string_view type;  // empty: the main type
  Model model = Model::any;
  Layers layers = Layers::all;
};

using enum TensorClass;

// The rules of the mixes are a convention of files with these names. Source: the output of
// llama-quantize of https://github.com/ggml-org/llama.cpp.
constexpr Rule kRules[] = {
    {mixes(Mix::mxfp4_moe, Mix::q8_0), output, "Q8_0"},
    {kTiny | mixes(Mix::iq3_xxs), output, "Q5_K"},
    {kAll, output, "Q6_K"},

    {kIq2Larger | mixes(Mix::iq3_xxs), token_embd, "IQ3_S"},
    {kTiny, token_embd, "Q2_K"},
    {mixes(Mix::tq1_0, Mix::tq2_0, Mix::q2_0), token_embd, "Q4_K"},

    {kTiny, attn_v, "Q4_K", Model::sharing_4},
    {kTiny, attn_v, "Q4_K", Model::experts_4},
    {kIq2Larger, attn_v, "IQ3_S"},
    {kTiny, attn_v, "Q2_K"},
    {kAll, attn_v, "Q8_0", Model::experts_8},
    {mixes(Mix::q2_k, Mix::q2_k_s, Mix::iq3_xxs, Mix::iq3_xs, Mix::iq3_s), attn_v, "Q4_K",
     Model::sharing_4},
    {mixes(Mix::q2_k), attn_v, "Q3_K"},
    {mixes(Mix::iq3_xxs), attn_v, "IQ3_S", Model::no_imatrix},
    {mixes(Mix::iq3_m), attn_v, "Q4_K"},
    {mixes(Mix::q3_k_m), attn_v, "Q5_K", Model::any, Layers::first_two},
    {mixes(Mix::q3_k_m), attn_v, "Q4_K"},
    {mixes(Mix::q3_k_l), attn_v, "Q5_K"},
    {mixes(Mix::iq4_nl, Mix::iq4_xs), attn_v, "Q5_K", Model::sharing_4},
    {mixes(Mix::q4_k_m, Mix::q5_k_m), attn_v, "Q6_K", Model::any, Layers::spread},
    {mixes(Mix::q4_k_s), attn_v, "Q5_K", Model::any, Layers::first_four},

    {kTiny, attn_k, "Q4_K", Model::experts_8},
    {kAll, attn_k, "Q8_0", Model::experts_8},
    {mixes(Mix::iq3_xs), attn_k, "IQ3_XXS"},
    {mixes(Mix::iq3_xxs), attn_k, "IQ2_S"},
    {mixes(Mix::iq3_xs), attn_q, "IQ3_XXS"},
    {mixes(Mix::iq3_xxs), attn_q, "IQ2_S"},

    {kTiny | mixes(Mix::q2_k, Mix::iq3_xs, Mix::iq3_xxs, Mix::q3_k_s, Mix::q3_k_m, Mix::iq4_nl,
                   Mix::q4_k_s, Mix::q4_k_m, Mix::iq3_s, Mix::iq3_m, Mix::iq4_xs),
     attn_output, "Q5_K", Model::experts_8},
    {kAll, attn_output, "", Model::experts_8},
    {kIq1, attn_output, "IQ2_XXS"},
    {kIq2Larger | mixes(Mix::iq3_xxs), attn_output, "IQ3_S"},
    {mixes(Mix::q2_k), attn_output, "Q3_K"},
    {mixes(Mix::q3_k_m, Mix::iq3_m), attn_output, "Q4_K"},
    {mixes(Mix::q3_k_l), attn_output, "Q5_K"},

    {mixes(Mix::iq3_xs), ffn_gate, "IQ3_XXS", Model::any, Layers::middle},
    {mixes(Mix::iq3_xs), ffn_up, "IQ3_XXS", Model::any, Layers::middle},

    {kIq2Larger, ffn_down, "IQ3_S", Model::any, Layers::first_eighth},
    {kTiny, ffn_down, "Q2_K", Model::any, Layers::first_eighth},
    {mixes(Mix::q2_k), ffn_down, "Q3_K"},
    {mixes(Mix::q2_k_s), ffn_down, "Q4_K", Model::any, Layers::first_eighth},
    {mixes(Mix::iq3_xxs), ffn_down, "Q4_K", Model::no_imatrix, Layers::first_eighth},
    {mixes(Mix::iq3_xxs), ffn_down, "Q3_K", Model::no_imatrix},
    {mixes(Mix::q3_k_m), ffn_down, "Q5_K", Model::any, Layers::first_sixteenth},
    {mixes(Mix::q3_k_m), ffn_down, "Q4_K"},
    {mixes(Mix::q3_k_l), ffn_down, "Q5_K"},
    {mixes(Mix::iq3_m), ffn_down, "Q4_K", Model::any, Layers::first_eighth},
    {mixes(Mix::iq3_m), ffn_down, "Q4_K", Model::experts_8, Layers::spread},
    {mixes(Mix::q4_k_m, Mix::q5_k_m), ffn_down, "Q6_K", Model::any, Layers::spread},
    {mixes(Mix::q4_k_s), ffn_down, "Q5_K", Model::any, Layers::first_eighth},
    {mixes(Mix::iq4_nl, Mix::iq4_xs), ffn_down, "Q5_K", Model::no_imatrix, Layers::first_eighth},
    {mixes(Mix::q4_0), ffn_down, "Q4_1", Model::imatrix, Layers::first_eighth},
    {mixes(Mix::q5_0), ffn_down, "Q5_1", Model::imatrix, Layers::first_eighth},
};

bool among(Layers layers, std::int64_t i, std::int64_t n) {
  const std::int64_t eighth = n / 8;
  switch (layers) {
    case Layers::all:
      return true;
    case Layers::first_two:
      return i < 2;
    case Layers::first_four:
      return i < 4;
    case Layers::first_sixteenth:
      return i < n / 16;
    case Layers::first_eighth:
      return i < eighth;
    case Layers::middle:
      return i >= eighth && i < 7 * n / 8;
    case Layers::spread:
      return i < eighth || i >= 7 * n / 8 || (i - eighth) % 3 == 2;
  }
  return false;
}

bool holds(Model condition, const ModelCase& model) {
  switch (condition) {
    case Model::any:
      return true;
    case Model::sharing_4:
      return model.sharing >= 4;
    case Model::experts_4:
      return model.experts >= 4;
    case Model::experts_8:
      return model.experts == 8;
    case Model::no_imatrix:
      return !model.has_imatrix;
    case Model::imatrix:
      return model.has_imatrix;
  }
  return false;
}

}  // namespace

std::span<const MixInfo> all_mixes() {
  return kMixes;
}
std::span<const MixAlias> mix_aliases() {
  return kAliases;
}

const MixInfo* find_mix(std::string_view name) {
  for (const MixAlias& alias : kAliases) {
    if (equals_ignoring_case(alias.name, name)) name = alias.mix;
  }
  const auto* found = std::ranges::find_if(
      kMixes, [&](const MixInfo& mix) { return equals_ignoring_case(mix.name, name); });
  return found == std::end(kMixes) ? nullptr : found;
}

std::string_view mix_type(const MixInfo& mix, const ModelCase& model, const TensorCase& tensor) {
  const std::uint64_t bit = mixes(mix.mix);
  if (mix.mix == Mix::mxfp4_moe && tensor.of != output) return tensor.stacked ? mix.type : "Q8_0";
  // If a layer has several tensors of a class, as with experts, layers count; else tensors do.
  const bool by_layer = model.experts > 1 && tensor.of != attn_v && (bit & kTiny) == 0;
  const std::int64_t index = by_layer ? tensor.layer : tensor.rank;
  const auto* rule = std::ranges::find_if(kRules, [&](const Rule& r) {
    return (r.mixes & bit) != 0 && r.of == tensor.of && holds(r.model, model) &&
           among(r.layers, index, tensor.layers);
  });
  const std::string_view type =
      rule == std::end(kRules) || rule->type.empty() ? mix.type : rule->type;
  // Their V has an eighth of the size of Q, so more bits for it cost almost nothing.
  const bool raised = tensor.of == attn_v && model.of_80_layers && (bit & kTiny) == 0;
  return raised && (type == "Q3_K" || type == "Q4_K") ? "Q5_K" : type;
}

}  // namespace weft::quantize
