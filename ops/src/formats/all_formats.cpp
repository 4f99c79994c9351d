// The one list of formats: a new one adds its include and its line here.
#include "weft/ops/formats/bf16.h"
#include "weft/ops/formats/f16.h"
#include "weft/ops/formats/f32.h"
#include "weft/ops/formats/iq1_m.h"
#include "weft/ops/formats/iq1_s.h"
#include "weft/ops/formats/iq2_s.h"
#include "weft/ops/formats/iq2_xs.h"
#include "weft/ops/formats/iq2_xxs.h"
#include "weft/ops/formats/iq3_s.h"
#include "weft/ops/formats/iq3_xxs.h"
#include "weft/ops/formats/iq4_nl.h"
#include "weft/ops/formats/iq4_xs.h"
#include "weft/ops/formats/mxfp4.h"
#include "weft/ops/formats/nf4.h"
#include "weft/ops/formats/numbers.h"
#include "weft/ops/formats/nvfp4.h"
#include "weft/ops/formats/q1_0.h"
#include "weft/ops/formats/q2_0.h"
#include "weft/ops/formats/q2_k.h"
#include "weft/ops/formats/q3_k.h"
#include "weft/ops/formats/q4_0.h"
#include "weft/ops/formats/q4_1.h"
#include "weft/ops/formats/q4_k.h"
#include "weft/ops/formats/q5_0.h"
#include "weft/ops/formats/q5_1.h"
#include "weft/ops/formats/q5_k.h"
#include "weft/ops/formats/q6_k.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/ops/formats/q8_1.h"
#include "weft/ops/formats/q8_k.h"
#include "weft/ops/formats/q8a.h"
#include "weft/ops/formats/tq1_0.h"
#include "weft/ops/formats/tq2_0.h"

namespace weft {
namespace {

const Format* const kFormats[] = {
    &kF32Format,      //
    &kF16Format,      //
    &kBF16Format,     //
    &kF64Format,      //
    &kI8Format,       //
    &kI16Format,      //
    &kI32Format,      //
    &kI64Format,      //
    &kQ1_0Format,     //
    &kQ2_0Format,     //
    &kQ4_0Format,     //
    &kQ4_1Format,     //
    &kQ5_0Format,     //
    &kQ5_1Format,     //
    &kQ8_0Format,     //
    &kQ8_1Format,     //
    &kQ2_KFormat,     //
    &kQ3_KFormat,     //
    &kQ4_KFormat,     //
    &kQ5_KFormat,     //
    &kQ6_KFormat,     //
    &kQ8_KFormat,     //
    &kIQ4_NLFormat,   //
    &kIQ4_XSFormat,   //
    &kIQ3_SFormat,    //
    &kIQ3_XXSFormat,  //
    &kIQ2_SFormat,    //
    &kIQ2_XSFormat,   //
    &kIQ2_XXSFormat,  //
    &kIQ1_MFormat,    //
    &kIQ1_SFormat,    //
    &kTQ1_0Format,    //
    &kTQ2_0Format,    //
    &kMXFP4Format,    //
    &kNVFP4Format,    //
    &kNF4Format,      //
    &kQ8AFormat,      //
};

template <class Predicate>
const Format* find(Predicate matches) {
  for (const Format* format : kFormats) {
    if (matches(format->dtype)) return format;
  }
  return nullptr;
}

}  // namespace

std::span<const Format* const> all_formats() {
  return kFormats;
}

const Format* find_format(DType dtype) {
  return find([&](DType d) { return d == dtype; });
}

const Format* find_format_by_gguf_id(std::uint32_t gguf_id) {
  return find([&](DType d) { return static_cast<std::int64_t>(d.gguf_id()) == gguf_id; });
}

const Format* find_format_by_name(std::string_view name) {
  return find([&](DType d) { return d.name() == name; });
}

}  // namespace weft
