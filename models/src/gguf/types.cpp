#include "gguf/types.h"

#include "weft/models/gguf.h"
#include "weft/ops/formats/format.h"

namespace weft::gguf {
namespace {

// Types that a codec in ops/formats may not exist for (where one exists, it goes first): name,
// number, elements and bytes of a block. Source: enum ggml_type and the block structs of
// https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h
constexpr DTypeInfo kBlockSizes[] = {
    {"Q4_1", 3, 32, 20},      {"Q5_0", 6, 32, 22},      {"Q5_1", 7, 32, 24},
    {"Q8_1", 9, 32, 36},      {"Q2_K", 10, 256, 84},    {"Q3_K", 11, 256, 110},
    {"Q5_K", 13, 256, 176},   {"Q8_K", 15, 256, 292},   {"IQ2_XXS", 16, 256, 66},
    {"IQ2_XS", 17, 256, 74},  {"IQ3_XXS", 18, 256, 98}, {"IQ1_S", 19, 256, 50},
    {"IQ4_NL", 20, 32, 18},   {"IQ3_S", 21, 256, 110},  {"IQ2_S", 22, 256, 82},
    {"IQ4_XS", 23, 256, 136}, {"I8", 24, 1, 1},         {"I16", 25, 1, 2},
    {"I64", 27, 1, 8},        {"F64", 28, 1, 8},        {"IQ1_M", 29, 256, 56},
    {"TQ1_0", 34, 256, 54},   {"TQ2_0", 35, 256, 66},   {"MXFP4", 39, 32, 17},
    {"NVFP4", 40, 64, 36},    {"Q1_0", 41, 128, 18},    {"Q2_0", 42, 64, 18},
};

struct Removed {
  std::uint32_t id;
  std::string_view name;
};
constexpr Removed kRemoved[] = {
    {4, "Q4_2"},      {5, "Q4_3"},        {31, "Q4_0_4_4"},   {32, "Q4_0_4_8"},
    {33, "Q4_0_8_8"}, {36, "IQ4_NL_4_4"}, {37, "IQ4_NL_4_8"}, {38, "IQ4_NL_8_8"},
};

}  // namespace

DType find_type(std::uint32_t id) {
  if (const Format* format = find_format_by_gguf_id(id)) return format->dtype;
  if (id == static_cast<std::uint32_t>(i32.gguf_id())) return i32;
  for (const DTypeInfo& info : kBlockSizes) {
    if (static_cast<std::uint32_t>(info.gguf_id) == id) return DType(&info);
  }
  return {};
}

std::string_view removed_type(std::uint32_t id) {
  for (const Removed& removed : kRemoved) {
    if (removed.id == id) return removed.name;
  }
  return {};
}

std::string supported_types() {
  std::string names;
  for (const Format* format : all_formats()) {
    if (format->dtype.gguf_id() < 0) continue;
    if (!names.empty()) names += ", ";
    names += format->dtype.name();
  }
  return names + ", " + std::string(i32.name());
}

}  // namespace weft::gguf

namespace weft {

bool is_supported(DType type) {
  return type == i32 || find_format(type) != nullptr;
}

}  // namespace weft
